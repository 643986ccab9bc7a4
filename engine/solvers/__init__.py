"""Exact solvers: what the result of a position is when both sides play their best."""
