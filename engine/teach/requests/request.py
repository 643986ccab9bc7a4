"""Requests for searches and boards, as the HTTP API receives them.

This module imports nothing else of the teaching search, which a server does not load.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, UnsetType

#: Maximum length of a name or of a list of names, in characters.
MAX_NAME = 1024
#: Maximum number of moves before the position that is searched.
MAX_MOVES = 4096
#: Maximum number of lines whose boards one request may ask for.
MAX_LINES = 64
#: Maximum number of moves of such a line.
MAX_LINE = 64

#: Longest text of a tree or a graph, in bytes.
TEXT_BYTES = 65_536

Name = Annotated[str, Meta(max_length=64)]
Names = Annotated[str, Meta(max_length=MAX_NAME)]
Text = Annotated[str, Meta(max_length=TEXT_BYTES)]
Move = Annotated[str, Meta(max_length=256)]
Moves = Annotated[tuple[Move, ...], Meta(max_length=MAX_MOVES)]


class TraceRequest(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A search: its subject and its options. A field that is None has its default.

    The subject is a position of a `game` (`position`, by default the start, and the `moves` after
    it), a `tree` or a `graph`. A `depth` of None means to the end of the game.
    """

    game: Name | None = None
    options: dict[Name, Names] = {}
    position: Annotated[str, Meta(max_length=4096)] | None = None
    moves: Moves = ()
    tree: Text | None = None
    graph: Text | None = None
    algorithm: Name | None = None
    form: Name | None = None
    depth: Annotated[int, Meta(ge=0, le=1000)] | UnsetType | None = msgspec.UNSET
    order: Names | None = None
    evaluator: Names | None = None
    cut_off: Name | None = None
    player: Annotated[int, Meta(ge=0, le=8)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**53 - 1)] | None = None
    fresh: bool | None = None
    #: A win, a draw and a loss for MAX (1,0,-1), or for each player (1,0,-1/1,1,-inf).
    utilities: Annotated[str, Meta(max_length=200)] | None = None


class BoardsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The boards after some lines of moves from a position."""

    game: Name
    lines: Annotated[
        tuple[Annotated[tuple[Move, ...], Meta(max_length=MAX_LINE)], ...],
        Meta(max_length=MAX_LINES),
    ]
    options: dict[Name, Names] = {}
    position: Annotated[str, Meta(max_length=4096)] | None = None
    #: Whether to add the legal moves, the texts of the positions and the static board.
    legal: bool = False
