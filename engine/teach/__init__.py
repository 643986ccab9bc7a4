"""The teaching search: readable versions of the classic algorithms, with traces.

It searches every installed game and trees that are written by hand.
"""
