"""What people decide by: a verdict, a summary, estimates, plans, forecasts, drift."""
