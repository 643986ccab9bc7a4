"""The contract of a rules file: the names that it must define, and those that it may define.

Plug-in authors import these names from `engine.game`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from engine.view import BoardView, MoveView, PositionView

State = tuple[np.uint64, ...]

#: What `status` and `no_moves_result` return, from the side to move.
ONGOING, WON, LOST, DRAWN = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Option:
    """One choice before a match: the values on offer, and whether `init` takes further values of
    the same form.

    `phrases` are values in words, which stand alone beside the title of the game: "With the swap
    rule".
    """

    title: str
    default: str
    offered: tuple[str, ...]
    free: bool = False
    phrases: Mapping[str, str] = field(default_factory=dict)

    def phrase(self, value: str) -> str:
        """A value in words; without a phrase of its own, the title of the option with the value."""
        if value in self.phrases:
            return self.phrases[value]
        return self.title if value == "yes" else f"{self.title}: {value}"


class Rules(Protocol):
    """The names that a game's file defines.

    Functions marked (rule) carry `@rule`, are pure, and are compiled for the search. A state is a
    tuple of WORDS np.uint64 that includes the side to move. A move is an int of at most 63 bits,
    and no two legal moves of a state share a token. No state has more than MAX_MOVES moves:
    compiled buffers have that size and no bounds checks.
    """

    #: The id: lower case words joined by hyphens.
    NAME: str
    TITLE: str
    WORDS: int
    MAX_MOVES: int
    #: The number of levels of play, 1 to 8. A simple game has few levels that differ in strength.
    #: 0 in a game with SEARCH "teach", which has none.
    LEVELS: int
    OPTIONS: Mapping[str, Option]
    #: Files of tuned numbers or books beside the game's file; the digest covers them.
    DATA: Sequence[str]
    #: The rules in a few paragraphs for players.
    RULES: str

    def init(self, options: Mapping[str, str]) -> State:
        """The state at the start; ValueError names the option and the values it may have."""

    def status(self, s: State) -> int:
        """(rule) ONGOING, or the result for the side to move; cheap tests only."""

    def moves(self, s: State, buf: Any) -> int:
        """(rule) Writes the legal moves into buf and returns their number; a finished state need
        not have any.
        """

    def play(self, s: State, m: int) -> State:
        """(rule) The state after the legal move m, with the other side to move; in a game with
        EXTRA_TURNS, with the side that is to move then.
        """

    def no_moves_result(self, s: State) -> int:
        """(rule) The result for the side to move when the state is ONGOING but has no moves."""

    def key(self, s: State) -> np.uint64:
        """(rule) A key that differs between states as far as 64 bits allow, and is never 0.

        States with the same key share their entries in the search's table. So a key may leave out
        only what a search cannot reach: counters that end a match after many quiet plies, while
        their limit is far. Chess leaves out the move number, and the plies since the last capture
        or pawn move below 110 of 150; draughts its quiet plies below 48 of 80; international
        draughts those of kings below 24 of 50, unless those against a lone king count; nine men's
        morris those without a mill up to 60 of 100. Above these numbers the plies are in the key.
        Sides, castling, en passant, men in hand and options always are.
        """

    def evaluate(self, s: State, data: Any) -> int:
        """(rule) The static evaluation for the side to move, in [-20000, 20000]; `data` points at
        the game's DATA.
        """

    def turn(self, s: State) -> int:
        """The seat to move: 0 or 1. In a game with EXTRA_TURNS it is a rule."""

    def parse_move(self, s: State, text: str) -> int:
        """The move that a token names, legal or not; ValueError when it names none."""

    def format_move(self, s: State, m: int) -> str:
        """The token of a legal move, in plain coordinates."""

    def parse_position(self, text: str, options: Mapping[str, str]) -> State:
        """The reverse of format_position; ValueError when the text is not a position."""

    def format_position(self, s: State) -> str:
        """The position as one line of text, complete with the side to move."""

    def ending(self, s: State) -> str:
        """The reason of a finished state's end, in words: "three in a row"."""

    def board(self, options: Mapping[str, str]) -> BoardView:
        """The part of the view that stays the same for a whole room."""

    def view(self, s: State, last: tuple[State, int] | None) -> PositionView:
        """The view of a state; `last` is the state before it and the move played there."""

    def move_view(self, s: State, m: int) -> MoveView:
        """A legal move as a sequence of clicks."""


REQUIRED = tuple(
    name for name in (*Rules.__annotations__, *vars(Rules)) if not name.startswith("_")
)


class OptionalRules(Protocol):
    """The names that a game's file may define in addition; each has a default.

    Rules see one state and no history. A game whose positions can repeat sets REPETITION or
    CLAIM_REPETITION and defines `repetition` and `reversible`; the search then also avoids or seeks
    repetitions.
    """

    #: The other Python files of a game that is too long for one. The digest covers them, and their
    #: rules are compiled with it. The file and its parts import nothing else from their folders.
    #: Default: none.
    PARTS: Sequence[ModuleType]
    #: A position that occurs this many times makes the match a draw; 0, the default: never.
    REPETITION: int
    #: Nodes, margin and slip of each level below the top (see engine.search.levels), LEVELS - 1
    #: rows, made by `python -m engine.match.ladder NAME --calibrate`. Default: levels that suit
    #: many games.
    LEVEL_TABLE: Sequence[tuple[int, int, int]]
    #: The player to move may claim a draw when the position has occurred this many times; 0, the
    #: default: never.
    CLAIM_REPETITION: int
    #: The futility margin: a quiet move rarely changes the evaluation by more. Near the horizon the
    #: search prunes moves and positions that are further from its window than this margin for each
    #: ply of depth; 0, the default: it never does.
    MARGIN: int
    #: The maximum time of the top level for a move, in milliseconds; 1000 is the default. More is
    #: for a game whose solver needs it to hold a won position. The search takes 1000 at most.
    TOP_LEVEL_TIME_MS: int
    #: The module of the game's exact solver (see `engine.solvers.base`); "", the default, for none.
    SOLVER: str
    #: The node limit of the solver in hints and analyses; 0, the default: they do not ask it.
    SOLVER_NODES: int
    #: What the points of a result count, in the plural, such as "discs"; "points" is the default.
    POINTS_UNIT: str
    #: What a number counts in move lists: "move", the default, both sides' moves, as in chess
    #: (3. Bc4 Nf6); "ply" each of them (5. d3 6. c4), which a game with EXTRA_TURNS needs.
    NUMBERING: str
    #: The search features that do not pay for this game, by their names in
    #: `engine.search.features.FEATURE`.
    DISABLED: Sequence[str]
    #: True where a side may move again after its own move (it closes a box). `turn` is a rule then,
    #: because the search calls it to learn whose move it is. False, the default: each move passes
    #: the turn.
    EXTRA_TURNS: bool
    #: The search that plays the game: "production", the default, or "teach". With "teach" the
    #: algorithms of `engine.teach` play it. Then nothing is compiled, so no function needs `@rule`,
    #: and the AI plays by named strategies instead of levels.
    SEARCH: str
    #: False where no match can end in a draw; then nobody can offer one. Default: True.
    CAN_BE_DRAWN: bool
    #: Other names of the game, such as "reversi": lower case words joined by hyphens. Programs
    #: accept them for NAME and store NAME. Default: none.
    ALIASES: Sequence[str]
    #: What a player tries to do, in one sentence of at most 80 characters: "Get four discs in a row
    #: before the other side." Pages show it beside the title. Default: the first sentence of RULES.
    GOAL: str

    def drawn(self, s: State) -> int:
        """(rule) 1 where the match is a draw although moves are left: by a count of moves, or
        because no side has the pieces to win. Default: 0.

        It is called only where `status` is ONGOING. Where no move is left it must be 0, unless
        `no_moves_result` is a draw as well. A perft does not call it.
        """

    def repetition(self, s: State) -> np.uint64:
        """(rule) A key that is equal for states that count as the same position: the key without
        the move counters.
        """

    def reversible(self, s: State) -> int:
        """(rule) The number of last plies that can be taken back: no position before them can
        repeat. 0 after a capture or another irreversible move; 512 in a game without such moves.
        """

    def count(self, s: State, buf: Any) -> int:
        """(rule) The number that `moves` would return, computed faster; buf may be used as scratch.
        Default: `moves`.
        """

    def tactical(self, s: State, buf: Any) -> int:
        """(rule) Writes the legal moves that may change the evaluation much, captures above all,
        into buf and returns their number. Default: none.

        Quiescence searches these moves at the horizon where the state is not `unstable`.
        """

    def unstable(self, s: State) -> int:
        """(rule) 1 where the static evaluation says little because the side to move has no free
        choice: it is in check, or must capture. The search extends such states. Default: 0.
        """

    def evasions(self, s: State, buf: Any) -> int:
        """(rule) Writes the moves that avoid an immediate loss in an `unstable` state into buf and
        returns their number: after every other move the opponent wins with its next one. 0, the
        default: they are unknown, or there are none.
        """

    def rank(self, s: State, m: int) -> int:
        """(rule) The place of a legal move in the move order: above 0 before the quiet moves, below
        0 after them; within 2**40 either way. Default: 0.
        """

    def may_pass(self, s: State) -> int:
        """(rule) 1 where some move is almost surely better than passing would be, so that the
        search may try `pass_turn` (null move). Default: 0.
        """

    def pass_turn(self, s: State) -> State:
        """(rule) The state with the other side to move, where `may_pass` allows it; it is not a
        move of the game.
        """

    def probe(self, s: State, data: Any) -> int:
        """(rule) The proven result for the side to move, plus four times the plies to the end (none
        for a draw); ONGOING, the default, where it is unknown. `data` has the tables of the game's
        solver.
        """

    def claim(self, s: State) -> str | None:
        """The reason for which the player to move may claim a draw, in words; None, the default,
        where there is none.
        """

    def points(self, s: State) -> tuple[int, int] | None:
        """The points of both seats in a finished state, such as their discs, within a billion
        either way; None, the default, where the result has none.

        `status` and `no_moves_result` decide who wins. In a game with SEARCH "teach", points are
        also the utilities of a finished state.
        """

    def maximizer(self, s: State) -> int:
        """The seat that is MAX for the strategies, in a game with SEARCH "teach" in which both
        seats want opposite things of one number, the sum of the points: this seat wants much, the
        other one little. Default: the points of each seat are its own utility, and the seat to
        move is MAX.
        """

    def notation(self, s: State, m: int) -> str:
        """A legal move as players write it ("Nbxd7+"); `parse_move` reads it back. Default: its
        token.
        """

    def can_be_drawn(self, options: Mapping[str, str]) -> bool:
        """Whether a match with these options can end in a draw, in a game with CAN_BE_DRAWN.
        Default: it can.
        """

    def can_win(self, s: State, seat: int) -> bool:
        """Whether some sequence of legal moves, however unlikely, ends in a win of this seat.

        A server asks it before it gives a seat the win without a move on the board: by a flag, a
        claim or a forfeit. The search never calls it. Where it cannot tell it is True, which is
        also the default.
        """


OPTIONAL = tuple(
    name
    for name in (*OptionalRules.__annotations__, *vars(OptionalRules))
    if not name.startswith("_")
)

#: The rules that every search calls by name.
HOOKS = ("status", "moves", "play", "no_moves_result", "key", "evaluate")
#: The rules that a search calls where a game has them. A search's template may name more of a
#: game's rules in MORE_HOOKS.
OPTIONAL_HOOKS = (
    "drawn", "repetition", "reversible", "count", "tactical", "unstable", "rank", "may_pass",
    "pass_turn", "probe", "evasions",
)  # fmt: skip
