"""The teaching search: the classic algorithms, readable, on every game and on trees written by
hand, with traces.
"""
