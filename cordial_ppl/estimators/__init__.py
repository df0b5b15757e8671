"""The estimators: single calibrators, stacks, several readers, users, and their files."""
