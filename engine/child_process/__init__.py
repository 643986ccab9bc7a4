"""Processes of this program that run code with limits of time and memory, and their pipes."""
