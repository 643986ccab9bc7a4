"""Tests of a whole cluster: its files, its proxy, and what survives the death of its parts."""
