"""Whether it is any good: sweeps, their products, checks of channels, made-up tasks."""
