"""The teaching search: readable versions of the classic algorithms, with traces.

It searches the installed games and trees that a user writes as text or JSON. It began with five
texts on game search, whose pseudo-code, logs and examples it reproduces; comments call them the
founding texts.
"""
