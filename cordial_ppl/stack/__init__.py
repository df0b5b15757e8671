"""What a fit is made of: calibrators and channels, their weights, what they predict together."""
