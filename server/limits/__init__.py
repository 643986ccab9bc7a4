"""Rate limits and limits by address."""
