"""Seats that are not held by people: AI seats, and engine workers that search for them."""
