"""Comparisons of calibrators on many subsets of labels: the file, the run, the results."""
