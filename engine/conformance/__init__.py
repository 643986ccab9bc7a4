"""The conformance kit: checks that every game must pass."""
