"""What is taken in: the scale, readings, labels and covariates, as arrays."""
