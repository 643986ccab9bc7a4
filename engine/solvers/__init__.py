"""Exact solvers: the result of a position with best play by both sides."""
