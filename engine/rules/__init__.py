"""Loading and checking of rules files: registry, digests, data files, style."""
