"""Exact solvers: they find the result of a position with best play by both sides."""
