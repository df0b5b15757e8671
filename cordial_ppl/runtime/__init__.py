"""Compiling, progress, files that appear whole or not at all, and a store of arrays."""
