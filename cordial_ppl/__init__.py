"""Twenty labels turn a language model's ratings into calibrated probabilities."""
