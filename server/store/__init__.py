"""Where the log and its projections are kept."""
