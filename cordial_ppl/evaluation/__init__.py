"""Evaluation: sweeps of calibrators, checks of channels, made-up reviews."""
