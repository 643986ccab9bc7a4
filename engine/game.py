"""The contract of a rules file, and what the rest of the program gets from it.

A game is one Python file (see `Rules`); a long one has parts beside it. Inside, a state is a tuple
of np.uint64 and a move is an int; outside, a position and a move are text. Servers, clients and
tests use the checked entry points `Game` and `Position`. These run the same rules uncompiled, so
that a server loads neither native code nor a compiler.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn, Protocol

import numpy as np
from msgspec import structs

from engine.jit import RULE
from engine.rules.overflow import wrapping
from engine.view import BoardView, MoveView, PositionView

State = tuple[np.uint64, ...]

#: What `status` and `no_moves_result` return, from the side to move.
ONGOING, WON, LOST, DRAWN = 0, 1, 2, 3

#: The result of a position that is a draw by repetition; no rule returns it.
REPEATED = 4

#: The longest position text, move token or option value that is read, in characters.
MAX_TEXT = 4096


class GameError(Exception):
    """A caller's error about a game; the message says what was expected."""


class UnknownGame(GameError):
    """There is no game of that id."""


class OptionError(GameError):
    """The game has no such option, or the option has no such value."""


class PositionError(GameError):
    """The text is not a position of this game."""


class MalformedMove(GameError):
    """The text is not a move of this game."""


class IllegalMove(GameError):
    """The move is well-formed, but the rules do not allow it here."""


class GameFault(Exception):
    """The rules raised an error: a defect of the game's file, not of the caller."""


@dataclass(frozen=True, slots=True)
class Option:
    """One choice before a match: the values on offer, and whether `init` takes further values of
    the same form.
    """

    title: str
    default: str
    offered: tuple[str, ...]
    free: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a match on the board: the winning seat, None for a draw, and the reason."""

    winner: int | None
    reason: str


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
    #: The levels of play, 1 to 8, as many as the game can tell apart.
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
        """(rule) The state after the legal move m, the other side to move."""

    def no_moves_result(self, s: State) -> int:
        """(rule) The result for the side to move when the state is ONGOING but has no moves."""

    def key(self, s: State) -> np.uint64:
        """(rule) A key that differs between states as far as 64 bits allow, and is never 0.

        States with the same key share their entries in the search's table. So a key may leave out
        only what a search cannot reach: counters that end a match after many quiet plies, while
        their limit is far. Chess leaves out the move number, and the plies since the last capture
        or pawn move below 110 of 150; draughts its quiet plies below 48 of 80; international
        draughts those of kings below 24 of 50, unless few pieces are counted as well; nine men's
        morris those without a mill up to 60 of 100. Above these numbers the plies are in the key.
        Sides, castling, en passant, men in hand and options always are.
        """

    def evaluate(self, s: State, data: Any) -> int:
        """(rule) The static evaluation for the side to move, in [-20000, 20000]; `data` points at
        the game's DATA.
        """

    def turn(self, s: State) -> int:
        """The seat to move."""

    def parse_move(self, s: State, text: str) -> int:
        """The move that a token names, legal or not; ValueError when it names none."""

    def format_move(self, s: State, m: int) -> str:
        """The token of a legal move, in plain coordinates."""

    def parse_position(self, text: str, options: Mapping[str, str]) -> State:
        """The reverse of format_position; ValueError when the text is no position."""

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
    """The names that a game's file may define besides; each has a default.

    Rules see one state and no history. A game with repeating positions declares in REPETITION how
    often a position may occur, and defines `repetition` and `reversible`; the search then also
    avoids or seeks repetitions.
    """

    #: The other Python files of a game that is too long for one. The digest covers them, and their
    #: rules are compiled with it. The file and its parts import nothing else from their folders.
    #: Default: none.
    PARTS: Sequence[ModuleType]
    #: The occurrence of a position that ends the match as a draw; 0, the default, for none.
    REPETITION: int
    #: Nodes, margin and slip of each level below the top (see engine.search.levels), LEVELS - 1
    #: rows, made by `python -m engine.match.ladder NAME --calibrate`. Default: levels that suit
    #: many games.
    LEVEL_TABLE: Sequence[tuple[int, int, int]]
    #: The occurrence of a position at which the player to move may claim a draw; 0 is the default.
    CLAIM_REPETITION: int
    #: The change of the evaluation that a quiet move hardly exceeds. Near its horizon the search
    #: prunes what is further from its window; 0, the default: it never does.
    MARGIN: int
    #: The longest time of the top level, in milliseconds, where only a longer run of the game's
    #: solver keeps a won position won; 1000 is the default. The search alone takes 1000 at most.
    PATIENCE_MS: int
    #: The module of the game's exact solver (see `engine.solvers.base`); "", the default, for none.
    SOLVER: str
    #: What a number counts in move lists: "move", the default, both sides' moves, as in chess
    #: (3. Bc4 Nf6); "ply" each of them (5. d3 6. c4).
    NUMBERING: str
    #: The search features that do not pay for this game, by their names in
    #: `engine.search.features.FEATURE`.
    DISABLED: Sequence[str]

    def drawn(self, s: State) -> int:
        """(rule) 1 where the match is a draw although moves are left: by a count of moves, or for
        want of material. Default: 0.

        It is called only where `status` is ONGOING. Where no move is left it must be 0, unless
        `no_moves_result` is a draw as well. A perft does not call it.
        """

    def repetition(self, s: State) -> np.uint64:
        """(rule) A key that is equal for states that count as the same position: the key without
        the move counters.
        """

    def reversible(self, s: State) -> int:
        """(rule) The number of last plies that can be taken back: no position before them can
        repeat. 0 after a capture or another irreversible move, 512 where there are none.
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

    def notation(self, s: State, m: int) -> str:
        """A legal move as players write it ("Nbxd7+"); `parse_move` reads it back. Default: its
        token.
        """


OPTIONAL = tuple(
    name
    for name in (*OptionalRules.__annotations__, *vars(OptionalRules))
    if not name.startswith("_")
)


def _times(count: int) -> str:
    return {2: "twice"}.get(count, f"{count} times")


#: Names that a rules file of an earlier version may define, and their names now.
RENAMED = {
    "tense": "unstable", "noisy": "tactical", "forced": "evasions", "stuck": "no_moves_result",
    "WITHOUT": "DISABLED",
}  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    if name == "GOES_ON":
        raise ImportError("engine.game.GOES_ON is called ONGOING now")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _old_names(rules: object) -> list[str]:
    """The names of an earlier version that a rules file defines, other than its own unmarked
    functions.
    """
    found = [name for name in RENAMED if hasattr(rules, name)]
    return [name for name in found if name.isupper() or hasattr(getattr(rules, name), RULE)]


class Game:
    """The checked entry points around one rules file.

    `digest` identifies the exact rules (the file, its data, the engine around it); two nodes or
    processes with different digests must not share a match. Errors of the rules become GameFault,
    except for the typed errors of bad arguments.
    """

    __slots__ = (
        "claim", "claim_repetition", "digest", "drawn", "id", "level_table", "numbering",
        "repetition_times", "rules", "title",
    )  # fmt: skip

    def __init__(self, rules: Rules, digest: str) -> None:
        file = getattr(rules, "__file__", rules)
        if old := _old_names(rules):
            names = ", ".join(f"{name} is called {RENAMED[name]} now" for name in old)
            raise GameFault(f"the rules file {file} has names of an earlier version: {names}")
        missing = [name for name in REQUIRED if not hasattr(rules, name)]
        if missing:
            raise GameFault(f"the rules file {file} does not define {', '.join(missing)}")
        self.rules = rules
        self.drawn: Callable[[State], int] | None = getattr(rules, "drawn", None)
        self.claim: Callable[[State], str | None] | None = getattr(rules, "claim", None)
        self.repetition_times = int(getattr(rules, "REPETITION", 0))
        self.claim_repetition = int(getattr(rules, "CLAIM_REPETITION", 0))
        self.level_table: Sequence[tuple[int, int, int]] = getattr(rules, "LEVEL_TABLE", ())
        if self.level_table and len(self.level_table) != rules.LEVELS - 1:
            raise GameFault(
                f"the rules file {file} has {rules.LEVELS} LEVELS, and LEVEL_TABLE not one less"
            )
        self.numbering: str = getattr(rules, "NUMBERING", "move")
        if self.numbering not in ("move", "ply"):
            raise GameFault(
                f"the rules file {file} has NUMBERING {self.numbering!r}, not 'move' or 'ply'"
            )
        lacking = [name for name in ("repetition", "reversible") if not hasattr(rules, name)]
        if (self.repetition_times or self.claim_repetition) and lacking:
            raise GameFault(
                f"the rules file {file} counts repetitions but does not define {', '.join(lacking)}"
            )
        self.id = rules.NAME
        self.title = rules.TITLE
        self.digest = digest

    def __repr__(self) -> str:
        return f"Game({self.id!r})"

    @property
    def levels(self) -> int:
        return self.rules.LEVELS

    @property
    def options(self) -> Mapping[str, Option]:
        return self.rules.OPTIONS

    def check_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """All options with their values, defaults filled in; OptionError names the valid ones."""
        known = self.options
        for name, value in options.items():
            if name not in known:
                offer = ", ".join(known) or "none"
                raise OptionError(f"{self.title} has no option {name[:40]!r}; it has: {offer}")
            option = known[name]
            if value not in option.offered and not (option.free and len(value) <= MAX_TEXT):
                raise OptionError(
                    f"option {name} is one of {', '.join(option.offered)}, not {value[:40]!r}"
                )
        return {name: options.get(name, option.default) for name, option in known.items()}

    def start(self, options: Mapping[str, str] | None = None) -> "Position":
        """The position at the start of a match; OptionError for an unknown option or value."""
        chosen = self.check_options(options or {})
        try:
            with wrapping():
                return Position(self, chosen, self.rules.init(chosen))
        except ValueError as error:
            raise OptionError(str(error)) from error
        except Exception as error:
            self._fault("init", error)

    def position(self, text: str, options: Mapping[str, str] | None = None) -> "Position":
        """The position that a text names; PositionError when it names none."""
        chosen = self.check_options(options or {})
        if len(text) > MAX_TEXT:
            raise PositionError(f"a position has at most {MAX_TEXT} characters")
        try:
            with wrapping():
                return Position(self, chosen, self.rules.parse_position(text, chosen))
        except ValueError as error:
            raise PositionError(
                f"{text[:80]!r} is not a position of {self.title}: {error}"
            ) from error
        except Exception as error:
            self._fault("parse_position", error)

    def board(self, options: Mapping[str, str]) -> BoardView:
        """The part of the board view that stays the same for a whole room."""
        try:
            return self.rules.board(options)
        except Exception as error:
            self._fault("board", error)

    def settle(self, state: State) -> tuple[int, list[int]]:
        """ONGOING with the legal moves in the order of the rules, or the result for the side to
        move without moves.
        """
        hook = "status"
        rules = self.rules
        try:
            with wrapping():
                result = int(rules.status(state))
                if result != ONGOING:
                    return result, []
                hook = "moves"
                buffer = [0] * rules.MAX_MOVES
                moves = buffer[: rules.moves(state, buffer)]
                if not moves:
                    hook = "no_moves_result"
                    return int(rules.no_moves_result(state)), []
                hook = "drawn"
                if self.drawn is not None and self.drawn(state):
                    return DRAWN, []
        except Exception as error:
            self._fault(hook, error)
        return ONGOING, moves

    def _fault(self, hook: str, error: Exception) -> NoReturn:
        raise GameFault(
            f"the rules of {self.id} failed in {hook}: {type(error).__name__}: {error}"
        ) from error


class Position:
    """A state of a game with its options: immutable, comparable, and readable as text.

    `last` is the state before and the move that led here, for the view. `past` are the repetition
    keys of the earlier positions that can still repeat. A position read from text has neither; they
    do not count for equality.
    """

    __slots__ = ("_child", "_played", "_settled", "game", "last", "options", "past", "state")

    def __init__(
        self,
        game: Game,
        options: Mapping[str, str],
        state: State,
        last: tuple[State, int] | None = None,
        past: tuple[int, ...] = (),
    ) -> None:
        self.game = game
        self.options = options
        self.state = state
        self.last = last
        self.past = past
        # The position after the move of the last `advance`: a server decides on a move and then
        # replays it from its log.
        self._child: tuple[str, Position] | None = None
        self._settled: tuple[int, list[int]] | None = None
        self._played: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return (
            self.state == other.state
            and self.options == other.options
            and self.game.id == other.game.id
        )

    def __hash__(self) -> int:
        return hash(self.state)

    def __repr__(self) -> str:
        return f"Position({self.game.id!r}, {self.text()!r})"

    @property
    def turn(self) -> int:
        """The seat to move; in a finished position, the seat that would be."""
        try:
            return self.game.rules.turn(self.state)
        except Exception as error:
            self.game._fault("turn", error)

    def text(self) -> str:
        """The position as one line of text that `Game.position` reads back."""
        try:
            return self.game.rules.format_position(self.state)
        except Exception as error:
            self.game._fault("format_position", error)

    def digest(self) -> str:
        """16 hex digits over text and options that identify a position across processes."""
        parts = [self.text(), *(f"{name}={value}" for name, value in sorted(self.options.items()))]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()

    def moves(self) -> list[int]:
        """The legal moves, as the rules number them; none when the match is over."""
        return self._settle()[1]

    def tokens(self) -> list[str]:
        """The legal moves as text."""
        return [self.format_move(move) for move in self.moves()]

    def parse_move(self, text: str) -> int:
        """The legal move of a token; MalformedMove or IllegalMove says what was expected."""
        if not 0 < len(text) <= MAX_TEXT:
            raise MalformedMove(f"a move of {self.game.title} is written like {self._example()}")
        try:
            with wrapping():
                move = int(self.game.rules.parse_move(self.state, text))
        except ValueError as error:
            raise self._malformed(text) from error
        except Exception as error:
            self.game._fault("parse_move", error)
        if move not in self.moves():
            raise IllegalMove(f"{text[:40]} is not allowed here")
        return move

    def format_move(self, move: int) -> str:
        """The token of a legal move."""
        try:
            with wrapping():
                return self.game.rules.format_move(self.state, move)
        except Exception as error:
            self.game._fault("format_move", error)

    def play(self, move: int) -> "Position":
        """The position after a legal move; unchecked, so use `parse_move` at the border."""
        try:
            with wrapping():
                after = self.game.rules.play(self.state, move)
        except Exception as error:
            self.game._fault("play", error)
        return self._after(move, after)

    def advance(self, text: str) -> "tuple[str, Position, Outcome | None]":
        """Plays the legal move of a token: returns its plain token, the position after it, and the
        outcome if the match ends there.

        It does and raises the same as `parse_move`, `format_move`, `play` and `outcome`.
        """
        move = self.parse_move(text)
        token = self.format_move(move)
        after = self.play(move)
        self._child = (token, after)
        return token, after, after.outcome()

    def replay(self, text: str) -> "Position":
        """The position after a move from a log: it is parsed, but not checked against the legal
        moves again.
        """
        if self._child is not None and self._child[0] == text:
            return self._child[1]
        try:
            with wrapping():
                move = int(self.game.rules.parse_move(self.state, text))
        except ValueError as error:
            raise self._malformed(text) from error
        except Exception as error:
            self.game._fault("parse_move", error)
        return self.play(move)

    def outcome(self) -> Outcome | None:
        """The outcome if the match ended here, or None."""
        result = self._settle()[0]
        if result == ONGOING:
            return None
        if result == REPEATED:
            return Outcome(None, f"the same position {_times(self.game.repetition_times)}")
        try:
            with wrapping():
                reason = self.game.rules.ending(self.state)
        except Exception as error:
            self.game._fault("ending", error)
        if result == DRAWN:
            return Outcome(None, reason)
        return Outcome(self.turn if result == WON else 1 - self.turn, reason)

    def claim(self) -> str | None:
        """The reason for which the player to move may claim a draw here, in words; None when there
        is none or the match is over.
        """
        times, reason = self.game.claim_repetition, self.game.claim
        if (reason is None and not times) or self._settle()[0] != ONGOING:
            return None
        if times and self._occurrences() >= times:
            return f"the same position {_times(times)}"
        if reason is None:
            return None
        try:
            with wrapping():
                found: str | None = reason(self.state)
        except Exception as error:
            self.game._fault("claim", error)
        return found

    def notation(self, move: int) -> str:
        """A legal move as players of the game write it, by default its token."""
        write = getattr(self.game.rules, "notation", None)
        if write is None:
            return self.format_move(move)
        try:
            with wrapping():
                return str(write(self.state, move))
        except Exception as error:
            self.game._fault("notation", error)

    def played(self) -> str:
        """The move that led here as players write it; "" without one, and in games that write moves
        as tokens.
        """
        if self._played is None:
            self._played = ""
            if self.last is not None and hasattr(self.game.rules, "notation"):
                before, move = self.last
                self._played = Position(self.game, self.options, before).notation(move)
        return self._played

    def view(self) -> PositionView:
        """The view of this position."""
        try:
            with wrapping():
                view = self.game.rules.view(self.state, self.last)
        except Exception as error:
            self.game._fault("view", error)
        if self._settle()[0] == REPEATED:
            view = structs.replace(view, turn=None, text="Draw by repetition")
        return structs.replace(view, played=self.played()) if self.played() else view

    def move_views(self) -> list[MoveView]:
        """The legal moves as sequences of clicks."""
        moves = self.moves()
        try:
            with wrapping():
                return [self.game.rules.move_view(self.state, move) for move in moves]
        except Exception as error:
            self.game._fault("move_view", error)

    def forced_pass(self) -> str | None:
        """The token of the only legal move, if it is the button of a target without cells ("pass").

        Then there is nothing to choose and nothing to see on the board. None otherwise.
        """
        if len(self.moves()) != 1:
            return None
        (only,) = self.move_views()
        targets = self.game.board(self.options).targets
        return only.id if len(only.path) == 1 and targets.get(only.path[0]) == () else None

    def _settle(self) -> tuple[int, list[int]]:
        """The result or ONGOING, and the legal moves; computed once."""
        if self._settled is None:
            self._settled = self.game.settle(self.state)
            times = self.game.repetition_times
            if times and self._settled[0] == ONGOING and self._occurrences() >= times:
                self._settled = REPEATED, []
        return self._settled

    def _after(self, move: int, state: State) -> "Position":
        """The position of a state that a move of this one leads to, with its past."""
        past: tuple[int, ...] = ()
        if self.game.repetition_times or self.game.claim_repetition:
            rules: Any = self.game.rules
            try:
                with wrapping():
                    back = int(rules.reversible(state))
                    if back:
                        past = (*self.past, int(rules.repetition(self.state)))[-back:]
            except Exception as error:
                self.game._fault("repetition", error)
        return Position(self.game, self.options, state, (self.state, move), past)

    def _occurrences(self) -> int:
        """The occurrences of this position, this one included."""
        rules: Any = self.game.rules
        try:
            with wrapping():
                return 1 + self.past.count(int(rules.repetition(self.state)))
        except Exception as error:
            self.game._fault("repetition", error)

    def _malformed(self, text: str) -> MalformedMove:
        return MalformedMove(
            f"{text[:40]!r} is not a move of {self.game.title}, "
            f"which are written like {self._example()}"
        )

    def _example(self) -> str:
        tokens = self.tokens()
        return tokens[0] if tokens else "(no move is left)"
