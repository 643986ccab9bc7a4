"""Tests of the teaching search."""
