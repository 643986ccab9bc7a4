"""The storage of the event logs and their projections."""
