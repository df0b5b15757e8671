"""Evaluation: sweeps and their products, checks of channels, synthetic tasks."""
