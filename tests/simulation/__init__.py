"""Tests of the capacity model."""
