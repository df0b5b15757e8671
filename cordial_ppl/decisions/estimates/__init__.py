"""Estimates of a whole corpus and of its groups: means and shares, with intervals."""
