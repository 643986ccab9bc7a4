"""Runs the teaching search in processes of their own, with limits of time, memory and nodes."""
