"""Seats that are not people: AI seats, later engines and chat-bots."""
