"""A room as a pure state machine over its log."""
