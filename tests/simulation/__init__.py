"""A simulation of a cluster from measured unit costs: what it can do here, and what more players
would need.
"""
