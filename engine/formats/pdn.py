"""Portable Draughts Notation: draughts (`GameType` 21) and international draughts (20).

    [Event "?"]
    [White "Ben"]
    [Black "Ada"]
    [Result "0-1"]
    [GameType "21"]

    1. 11-15 23-18 2. 15x22 25x18 {Ben resigned} 0-1

Squares are numbers, and a capture that its first and last square do not name has all of them. White
is the side of the white men, whoever begins: in draughts that is Black. `FEN` has the pieces
without the counters that our positions add. Tags, comments and lines are as in
`engine.formats.pgn`. Pure.

The format is that of the standard PDN 3.0 (pdn.fmjd.org).
"""

import re

from engine.formats.pgn import (
    find_or_none,
    format_text,
    further_tags,
    is_standard,
    roster,
    sides_of,
)
from engine.formats.record import FindGame, GameRecord, Unwritable, with_texts

#: The type of each game, and the side that begins it as its positions name it.
GAME_TYPES = {"draughts": ("21", "B"), "international-draughts": ("20", "W")}


def format_pdn(record: GameRecord, find_game: FindGame) -> str:
    """The text of a game, which ends with an empty line.

    Raises Unwritable for another game, and where moves without notation can no longer be replayed.
    """
    if record.game not in GAME_TYPES:
        raise Unwritable(f"PDN is for draughts, not for {record.game}")
    game_type, first = GAME_TYPES[record.game]
    game = find_or_none(record, find_game)
    if game is None:
        raise Unwritable(f"the rules of {record.game} are not here")
    record = with_texts(record, game)
    sides = sides_of(record, game)
    tags = [*roster(record, sides), ("GameType", game_type)]
    if not is_standard(record, game):
        tags += [("SetUp", "1"), ("FEN", format_fen(record.start))]
    tags += further_tags(record, sides)
    # Other programs read the number before a second move as one of a new move.
    begins_second = record.start[:1] != first
    return format_text(record, tags, 1, begins_second, sides.result, repeats_number=False)


def format_fen(start: str) -> str:
    """A position without the counters of its end: "B:W21,K30:B1,2"."""
    return re.sub(r":H[\d,]+$", "", start)
