"""Rules, search and the worker pool: everything that thinks, nothing that talks to a network."""
