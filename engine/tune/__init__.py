"""Tuning: fits the numbers of an evaluation to the results of self-play."""
