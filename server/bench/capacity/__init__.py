"""A simulation of clusters from measured unit costs: their capacity, and what more players need."""
