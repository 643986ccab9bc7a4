"""The teaching search: readable versions of the classic algorithms, with traces.

It searches the installed games and trees that a user writes as text or JSON.
"""
