"""What a rules file provides and what everybody else gets from it.

A game is one Python file (see `Rules`). Inside, a state is a tuple of np.uint64 and a move an int; outside, a position
and a move are text. `Game` and `Position` are the checked way in for servers, clients and tests: they run the same
rules uncompiled, so that nothing native and no compiler is loaded by a server.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, cast

import numpy as np

from engine.view import BoardView, MoveView, PositionView

State = tuple[np.uint64, ...]

GOES_ON, WON, LOST, DRAWN = 0, 1, 2, 3
"""What `status` and `stuck` return, seen from the side to move."""

MAX_TEXT = 4096
"""Longest position text, move token or option value that is looked at, in characters."""


class GameError(Exception):
    """Anything a caller may have got wrong about a game; the message says what was expected."""


class UnknownGame(GameError):
    """There is no game of that name."""


class OptionError(GameError):
    """The game has no such option, or the option no such value."""


class PositionError(GameError):
    """The text is not a position of this game."""


class MalformedMove(GameError):
    """The text is not a move of this game at all."""


class IllegalMove(GameError):
    """A well-formed move that the rules do not allow here."""


class GameFault(Exception):
    """The rules themselves raised: a defect of the game's file, not of whoever called."""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose before a match: the values on offer,
    and whether `init` takes further values of the same form.
    """

    title: str
    default: str
    offered: tuple[str, ...]
    free: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a match ended on the board: the winning seat (None is a draw) and why, in words."""

    winner: int | None
    reason: str


class Rules(Protocol):
    """The names that a game's file defines. Functions marked (rule) carry `@rule`, are pure, and get compiled for the
    search.

    A state is a tuple of WORDS np.uint64 that carries the side to move; a move is an int of at most 63 bits, and no two
    legal moves of a state share one token. No state has more than MAX_MOVES moves: compiled buffers have that size and
    no bounds checks.
    """

    NAME: str
    """The id: lower case words joined by hyphens."""
    TITLE: str
    WORDS: int
    MAX_MOVES: int
    LEVELS: int
    """How many levels of play the game can tell apart, 1 to 8."""
    OPTIONS: Mapping[str, Option]
    DATA: Sequence[str]
    """Files of tuned numbers or books beside the game's file; they are part of its digest."""
    RULES: str
    """The rules in a few paragraphs for players."""

    def init(self, options: Mapping[str, str]) -> State:
        """The state at the start; ValueError says which value of which option was expected."""

    def status(self, s: State) -> int:
        """(rule) GOES_ON, or the result for the side to move; cheap tests only."""

    def moves(self, s: State, buf: Any) -> int:
        """(rule) Writes the legal moves into buf and returns their number; none for a finished state need be given."""

    def play(self, s: State, m: int) -> State:
        """(rule) The state after the legal move m, the other side to move."""

    def stuck(self, s: State) -> int:
        """(rule) The result for the side to move when the state goes on but there is no move."""

    def key(self, s: State) -> np.uint64:
        """(rule) Different for different states as far as 64 bits allow; never 0."""

    def evaluate(self, s: State, data: Any) -> int:
        """(rule) A guess of the result for the side to move, in [-20000, 20000]; data points at the game's DATA."""

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
        """Why a finished state is finished, in words: "three in a row"."""

    def board(self, options: Mapping[str, str]) -> BoardView:
        """What stays the same for a whole room."""

    def view(self, s: State, last: tuple[State, int] | None) -> PositionView:
        """What to draw of a state; last is the state before it and the move that was played there."""

    def move_view(self, s: State, m: int) -> MoveView:
        """A legal move as clicks."""


REQUIRED = tuple(name for name in (*Rules.__annotations__, *vars(Rules)) if not name.startswith("_"))


_SILENT: AbstractContextManager[object] = nullcontext()
_overflow_ignored = False


def ignore_overflow() -> None:
    """Lets words wrap without a warning in this whole process, from its main thread on, instead of in each call.

    For a process that uses numpy for nothing else; call it before the event loop begins. It spares a server's move
    four changes of numpy's error state.
    """
    global _overflow_ignored
    np.seterr(over="ignore")
    _overflow_ignored = True


def _quiet() -> AbstractContextManager[object]:
    """The surroundings in which uncompiled rules run: their words wrap, as compiled ones do."""
    return _SILENT if _overflow_ignored else np.errstate(over="ignore")


class Game:
    """A game as the rest of the house sees it: checked entry points around one rules file.

    `digest` names the exact rules (the file, its data, the engine around it); two nodes or processes whose digests
    differ must not share a match. Everything that the rules raise comes out as GameFault, unless it is the typed error
    of a bad argument.
    """

    __slots__ = ("digest", "id", "rules", "title")

    def __init__(self, rules: Rules, digest: str) -> None:
        missing = [name for name in REQUIRED if not hasattr(rules, name)]
        if missing:
            raise GameFault(f"the rules file {getattr(rules, '__file__', rules)} does not define {', '.join(missing)}")
        self.rules = rules
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
        """All options with their values, defaults filled in; OptionError says what is on offer."""
        known = self.options
        for name, value in options.items():
            if name not in known:
                offer = ", ".join(known) or "none"
                raise OptionError(f"{self.title} has no option {name[:40]!r}; it has: {offer}")
            option = known[name]
            if value not in option.offered and not (option.free and len(value) <= MAX_TEXT):
                raise OptionError(f"option {name} is one of {', '.join(option.offered)}, not {value[:40]!r}")
        return {name: options.get(name, option.default) for name, option in known.items()}

    def start(self, options: Mapping[str, str] | None = None) -> "Position":
        """The position at the start of a match; OptionError for an option or value that the game does not have."""
        chosen = self.check_options(options or {})
        try:
            with _quiet():
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
            with _quiet():
                return Position(self, chosen, self.rules.parse_position(text, chosen))
        except ValueError as error:
            raise PositionError(f"{text[:80]!r} is not a position of {self.title}: {error}") from error
        except Exception as error:
            self._fault("parse_position", error)

    def board(self, options: Mapping[str, str]) -> BoardView:
        """The part of the board view that stays the same for a whole room."""
        try:
            return self.rules.board(options)
        except Exception as error:
            self._fault("board", error)

    def legal(self, state: State) -> list[int]:
        """The legal moves of a state, in the order of the rules; none when it is finished."""
        try:
            with _quiet():
                if self.rules.status(state) != GOES_ON:
                    return []
                buffer = [0] * self.rules.MAX_MOVES
                count = self.rules.moves(state, buffer)
        except Exception as error:
            self._fault("moves", error)
        return buffer[:count]

    def result(self, state: State) -> int:
        """GOES_ON or the result for the side to move, having no move included."""
        try:
            with _quiet():
                status = int(self.rules.status(state))
                if status == GOES_ON and self.rules.moves(state, [0] * self.rules.MAX_MOVES) == 0:
                    status = int(self.rules.stuck(state))
                return status
        except Exception as error:
            self._fault("status", error)

    def _fault(self, hook: str, error: Exception) -> NoReturn:
        raise GameFault(f"the rules of {self.id} failed in {hook}: {type(error).__name__}: {error}") from error


class Position:
    """A state of a game with its options: immutable, comparable, and all in text outside.

    `last` is the state before and the move that led here, for the view only; it does not count for equality.
    """

    __slots__ = ("_child", "_legal", "game", "last", "options", "state")

    def __init__(
        self, game: Game, options: Mapping[str, str], state: State, last: tuple[State, int] | None = None
    ) -> None:
        self.game = game
        self.options = options
        self.state = state
        self.last = last
        # The position after the move that was last asked for: a server decides on a move and then replays it from its
        # log.
        self._child: tuple[str, Position] | None = None
        self._legal: list[int] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return self.state == other.state and self.options == other.options and self.game.id == other.game.id

    def __hash__(self) -> int:
        return hash(self.state)

    def __repr__(self) -> str:
        return f"Position({self.game.id!r}, {self.text()!r})"

    @property
    def turn(self) -> int:
        """The seat to move (of a finished position: who would be)."""
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
        """16 hex digits over text and options, to recognise a position across processes and restarts."""
        parts = [self.text(), *(f"{name}={value}" for name, value in sorted(self.options.items()))]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()

    def moves(self) -> list[int]:
        """The legal moves, as the rules number them."""
        if self._legal is None:
            self._legal = self.game.legal(self.state)
        return self._legal

    def tokens(self) -> list[str]:
        """The legal moves as text."""
        return [self.format_move(move) for move in self.moves()]

    def parse_move(self, text: str) -> int:
        """The legal move that a token names; MalformedMove or IllegalMove says what was expected."""
        if not 0 < len(text) <= MAX_TEXT:
            raise MalformedMove(f"a move of {self.game.title} is written like {self._example()}")
        try:
            with _quiet():
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
            with _quiet():
                return self.game.rules.format_move(self.state, move)
        except Exception as error:
            self.game._fault("format_move", error)

    def play(self, move: int) -> "Position":
        """The position after a legal move; unchecked, so ask `parse_move` at the border."""
        try:
            with _quiet():
                after = self.game.rules.play(self.state, move)
        except Exception as error:
            self.game._fault("play", error)
        return Position(self.game, self.options, after, (self.state, move))

    def advance(self, text: str) -> "tuple[str, Position, Outcome | None]":
        """Plays the legal move that a token names: its plain token, the position after it, and the outcome if it ends
        there.

        The same as `parse_move`, `format_move`, `play` and `outcome` without a history, in one pass. Raises what they
        raise.
        """
        rules = self.game.rules
        if not 0 < len(text) <= MAX_TEXT:
            raise MalformedMove(f"a move of {self.game.title} is written like {self._example()}")
        hook = "parse_move"
        try:
            with _quiet():
                try:
                    move = int(rules.parse_move(self.state, text))
                except ValueError as error:
                    raise self._malformed(text) from error
                if move not in self.moves():
                    raise IllegalMove(f"{text[:40]} is not allowed here")
                hook = "format_move"
                token = rules.format_move(self.state, move)
                hook = "play"
                after = Position(self.game, self.options, rules.play(self.state, move), (self.state, move))
                hook = "status"
                result = int(rules.status(after.state))
                after._legal = []
                if result == GOES_ON:
                    hook = "moves"
                    buffer = [0] * rules.MAX_MOVES
                    after._legal = buffer[: rules.moves(after.state, buffer)]
                    if not after._legal:
                        result = int(rules.stuck(after.state))
        except (GameError, GameFault):
            raise
        except Exception as error:
            self.game._fault(hook, error)
        self._child = (token, after)
        return token, after, after._outcome(result, ())

    def replay(self, text: str) -> "Position":
        """The position after a move that a log says was played: read, but not checked against the legal moves again."""
        if self._child is not None and self._child[0] == text:
            return self._child[1]
        try:
            with _quiet():
                move = int(self.game.rules.parse_move(self.state, text))
        except ValueError as error:
            raise self._malformed(text) from error
        except Exception as error:
            self.game._fault("parse_move", error)
        return self.play(move)

    def outcome(self, history: "Sequence[Position]" = ()) -> Outcome | None:
        """How the match ended here, or None; history is the positions before,
        for games whose rules look at repetition.
        """
        return self._outcome(self.game.result(self.state), history)

    def _outcome(self, result: int, history: "Sequence[Position]") -> Outcome | None:
        if result == GOES_ON:
            return self._repetition(history)
        try:
            reason = self.game.rules.ending(self.state)
        except Exception as error:
            self.game._fault("ending", error)
        if result == DRAWN:
            return Outcome(None, reason)
        return Outcome(self.turn if result == WON else 1 - self.turn, reason)

    def view(self) -> PositionView:
        """What to draw."""
        try:
            with _quiet():
                return self.game.rules.view(self.state, self.last)
        except Exception as error:
            self.game._fault("view", error)

    def move_views(self) -> list[MoveView]:
        """The legal moves as clicks."""
        moves = self.moves()
        try:
            with _quiet():
                return [self.game.rules.move_view(self.state, move) for move in moves]
        except Exception as error:
            self.game._fault("move_view", error)

    def _repetition(self, history: "Sequence[Position]") -> Outcome | None:
        """Rules may define REPETITION, the number of times that a position must
        occur for a draw (0: it never matters).
        """
        times = cast(int, getattr(self.game.rules, "REPETITION", 0))
        if times and 1 + sum(earlier.state == self.state for earlier in history) >= times:
            return Outcome(None, f"the same position {times} times")
        return None

    def _malformed(self, text: str) -> MalformedMove:
        return MalformedMove(
            f"{text[:40]!r} is not a move of {self.game.title}, which are written like {self._example()}"
        )

    def _example(self) -> str:
        tokens = self.tokens()
        return tokens[0] if tokens else "(no move is left)"
