"""Matches between players without a server: colour-swapped pairs, statistics, level ladders."""
