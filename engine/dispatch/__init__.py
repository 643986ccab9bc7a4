"""Assigns searches to places, retries lost ones, and decides their answers."""
