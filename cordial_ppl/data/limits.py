"""How much a file, or an argument, may ask for; what is beyond is refused by name."""

OPTIONS = 201
"""Options of a scale, as 0..200."""
