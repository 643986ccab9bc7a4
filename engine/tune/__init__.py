"""Tuning: self-play gives positions with results, and a fit gives the numbers of an evaluation that
explain them.
"""
