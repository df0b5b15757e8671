"""Doors of the package and damaged input for them; `benchmarks/fuzz.py` runs them."""
