"""Analyses of finished matches: the job of a position, the losses and words, and the runner."""
