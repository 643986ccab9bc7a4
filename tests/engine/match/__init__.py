"""Matches: statistics, openings, players, programs, logs, ladders."""
