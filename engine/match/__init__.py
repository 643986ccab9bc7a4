"""Matches between players without a server: pairs of games with the sides swapped, statistics,
ladders of levels.
"""
