"""Inference for any channel: the flat density, its mode, draws, weights, moves and NUTS."""
