"""Predictions for tables: batch by batch, on this machine (`predictor`) or on many (`cluster`)."""
