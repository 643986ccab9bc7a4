"""Runs strategies in processes of their own, with limits of time and memory."""
