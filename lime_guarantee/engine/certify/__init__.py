"""Who decides: bounds, the error budget, tests and certificates."""
