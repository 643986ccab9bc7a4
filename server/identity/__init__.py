"""Identities: guests today, accounts later."""
