"""A simulation of a cluster from measured unit costs: its capacity here, and what more players
would need.
"""
