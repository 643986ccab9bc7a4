"""What the bot says about positions and moves: facts of searches, and sentences made of them.

`facts` reads the facts, `english` makes the sentences. Pure.
"""
