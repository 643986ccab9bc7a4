"""What a rules file imports, and what the rest of the program gets from it.

A game is one Python file (see `engine.rules.contract`); a long one has parts beside it. In the
rules a state is a tuple of np.uint64 and a move is an int; logs and messages have both as text.
Servers, clients and tests use the checked entry points `Game` and `Position`. These run the same
rules uncompiled, so that a server loads neither native code nor a compiler.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from msgspec import structs

from engine.rules.call import ParsingCall, RulesCall
from engine.rules.contract import (
    DRAWN,
    LOST,
    ONGOING,
    OPTIONAL,
    REQUIRED,
    WON,
    Option,
    OptionalRules,
    Rules,
    State,
)
from engine.rules.errors import (
    GameError,
    GameFault,
    IllegalMove,
    MalformedMove,
    OptionError,
    PositionError,
    UnknownGame,
)
from engine.rules.reachable import may_run_out_of_moves
from engine.rules.resolved import RENAMED, ResolvedRules, resolve_rules
from engine.view import SEATS, BoardView, MoveView, PositionView

__all__ = [
    "DRAWN", "LOST", "MAX_TEXT", "ONGOING", "OPTIONAL", "RENAMED", "REPEATED", "REQUIRED", "WON",
    "Game", "GameError", "GameFault", "IllegalMove", "MalformedMove", "Option", "OptionError",
    "OptionalRules", "Outcome", "Position", "PositionError", "ResolvedRules", "Rules", "State",
    "UnknownGame", "may_run_out_of_moves",
]  # fmt: skip

#: The result of a position that is a draw by repetition; no rule returns it.
REPEATED = 4

#: Whether each seat can win, before the game was asked.
UNKNOWN: tuple[bool | None, ...] = (None,) * SEATS

#: The longest position text, move token or option value that is read, in characters.
MAX_TEXT = 4096


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a match on the board: the winning seat, None for a draw, and the reason.

    `points` are those of both seats, None in a game without points.
    """

    winner: int | None
    reason: str
    points: tuple[int, int] | None = None


def __getattr__(name: str) -> NoReturn:
    if name == "GOES_ON":
        raise ImportError("engine.game.GOES_ON is called ONGOING now")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _times(count: int) -> str:
    return {2: "twice"}.get(count, f"{count} times")


class Game:
    """The checked entry points around one rules file.

    `rules` has every name of the contract, read once from `module`, the rules file. `digest`
    identifies the exact rules (the file, its data, the engine around it); two nodes or processes
    with different digests must not share a match. Errors of the rules become GameFault, except for
    the typed errors of bad arguments.
    """

    __slots__ = ("digest", "id", "module", "rules", "title")

    def __init__(self, module: Rules, digest: str) -> None:
        self.module = module
        self.rules: ResolvedRules = resolve_rules(module)
        self.id = self.rules.NAME
        self.title = self.rules.TITLE
        self.digest = digest

    def __repr__(self) -> str:
        return f"Game({self.id!r})"

    @property
    def levels(self) -> int:
        return self.rules.LEVELS

    @property
    def options(self) -> Mapping[str, Option]:
        return self.rules.OPTIONS

    @property
    def goal(self) -> str:
        """What a player tries to do, in one sentence; the first sentence of the rules where the
        rules file does not say.
        """
        if self.rules.GOAL:
            return self.rules.GOAL
        text = " ".join(self.rules.RULES.split())
        return re.split(r"(?<=[.!?]) ", text, maxsplit=1)[0]

    def options_text(self, options: Mapping[str, str]) -> str:
        """The options of a match in words, without those that the game does not have."""
        known = self.options
        return ", ".join(
            known[name].phrase(value) for name, value in options.items() if name in known
        )

    def can_be_drawn(self, options: Mapping[str, str]) -> bool:
        """Whether a match with these options can end in a draw."""
        hook = self.rules.can_be_drawn
        if not self.rules.CAN_BE_DRAWN or hook is None:
            return self.rules.CAN_BE_DRAWN
        with RulesCall(self.id, "can_be_drawn"):
            return bool(hook(options))

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
            with ParsingCall(self.id, "init"):
                return Position(self, chosen, self.rules.init(chosen))
        except ValueError as error:
            raise OptionError(str(error)) from error

    def position(self, text: str, options: Mapping[str, str] | None = None) -> "Position":
        """The position that a text names; PositionError when it names none."""
        chosen = self.check_options(options or {})
        if len(text) > MAX_TEXT:
            raise PositionError(f"a position has at most {MAX_TEXT} characters")
        try:
            with ParsingCall(self.id, "parse_position"):
                return Position(self, chosen, self.rules.parse_position(text, chosen))
        except ValueError as error:
            raise PositionError(
                f"{text[:80]!r} is not a position of {self.title}: {error}"
            ) from error

    def board(self, options: Mapping[str, str]) -> BoardView:
        """The part of the board view that stays the same for a whole room."""
        with RulesCall(self.id, "board"):
            return self.rules.board(options)

    def points(self, state: State) -> tuple[int, int] | None:
        """The points of both seats in a finished state; None in a game without points."""
        count_points = self.rules.points
        if count_points is None:
            return None
        with RulesCall(self.id, "points"):
            points = count_points(state)
            return None if points is None else (int(points[0]), int(points[1]))

    def maximizer(self, state: State) -> int | None:
        """The seat that wants the sum of the points to be great; None where each wants its own."""
        if self.rules.maximizer is None:
            return None
        with RulesCall(self.id, "maximizer"):
            return int(self.rules.maximizer(state))

    def result_and_moves(self, state: State) -> tuple[int, list[int]]:
        """ONGOING with the legal moves in the order of the rules, or the result for the side to
        move without moves.
        """
        rules = self.rules
        with RulesCall(self.id, "status") as call:
            result = int(rules.status(state))
            if result != ONGOING:
                return result, []
            call.hook = "moves"
            buffer = [0] * rules.MAX_MOVES
            moves = buffer[: rules.moves(state, buffer)]
            if not moves:
                call.hook = "no_moves_result"
                return int(rules.no_moves_result(state)), []
            call.hook = "drawn"
            if rules.drawn is not None and rules.drawn(state):
                return DRAWN, []
        return ONGOING, moves


class Position:
    """A state of a game with its options: immutable, comparable, and readable as text.

    `last` is the state before and the move that led here, for the view. `past` are the repetition
    keys of the earlier positions that can still repeat. A position read from text has neither; they
    do not count for equality.
    """

    __slots__ = (
        "_cached_result", "_can_win", "_child", "_played", "_turn", "game", "last", "options",
        "past", "state",
    )  # fmt: skip

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
        self._cached_result: tuple[int, list[int]] | None = None
        self._can_win = UNKNOWN
        self._played: str | None = None
        self._turn: int | None = None

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
        if self._turn is None:
            with RulesCall(self.game.id, "turn"):
                self._turn = int(self.game.rules.turn(self.state))
        return self._turn

    def text(self) -> str:
        """The position as one line of text that `Game.position` reads back."""
        with RulesCall(self.game.id, "format_position"):
            return self.game.rules.format_position(self.state)

    def digest(self) -> str:
        """16 hex digits over text and options that identify a position across processes."""
        parts = [self.text(), *(f"{name}={value}" for name, value in sorted(self.options.items()))]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()

    def moves(self) -> list[int]:
        """The legal moves, as the rules encode them; none when the match is over."""
        return self._result_and_moves()[1]

    def tokens(self) -> list[str]:
        """The legal moves as text."""
        return [self.format_move(move) for move in self.moves()]

    def parse_move(self, text: str) -> int:
        """The legal move of a token; MalformedMove or IllegalMove says what was expected."""
        if not 0 < len(text) <= MAX_TEXT:
            raise MalformedMove(f"a move of {self.game.title} is written like {self._example()}")
        try:
            with ParsingCall(self.game.id, "parse_move"):
                move = int(self.game.rules.parse_move(self.state, text))
        except ValueError as error:
            raise self._malformed(text) from error
        if move not in self.moves():
            raise IllegalMove(f"{text[:40]} is not allowed here")
        return move

    def format_move(self, move: int) -> str:
        """The token of a legal move."""
        with RulesCall(self.game.id, "format_move"):
            return self.game.rules.format_move(self.state, move)

    def play(self, move: int) -> "Position":
        """The position after a legal move; unchecked, so use `parse_move` at the border."""
        with RulesCall(self.game.id, "play"):
            after = self.game.rules.play(self.state, move)
        return self._after(move, after)

    def advance(self, text: str) -> "tuple[str, Position, Outcome | None]":
        """Plays the legal move of a token: returns its plain token, the position after it, and the
        outcome if the match ends there.

        It calls `parse_move`, `format_move`, `play` and `outcome` in turn and raises their errors.
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
            with ParsingCall(self.game.id, "parse_move"):
                move = int(self.game.rules.parse_move(self.state, text))
        except ValueError as error:
            raise self._malformed(text) from error
        return self.play(move)

    def outcome(self) -> Outcome | None:
        """The outcome if the match ended here, or None."""
        result = self._result_and_moves()[0]
        if result == ONGOING:
            return None
        if result == REPEATED:
            return Outcome(None, f"the same position {_times(self.game.rules.REPETITION)}")
        with RulesCall(self.game.id, "ending"):
            reason = self.game.rules.ending(self.state)
        winner = None if result == DRAWN else self.turn if result == WON else 1 - self.turn
        return Outcome(winner, reason, self.game.points(self.state))

    def claim(self) -> str | None:
        """The reason for which the player to move may claim a draw here, in words; None when there
        is none or the match is over.
        """
        times, claim_hook = self.game.rules.CLAIM_REPETITION, self.game.rules.claim
        if (claim_hook is None and not times) or self._result_and_moves()[0] != ONGOING:
            return None
        if times and self._occurrences() >= times:
            return f"the same position {_times(times)}"
        if claim_hook is None:
            return None
        with RulesCall(self.game.id, "claim"):
            reason: str | None = claim_hook(self.state)
        return reason

    def can_win(self, seat: int) -> bool:
        """Whether the seat can still win by some series of legal moves, as far as the game can
        tell: True in a game without the rule, which says where it is too generous. Computed once.
        """
        answers, can_win = self._can_win, self.game.rules.can_win
        if can_win is None:
            return True
        if (answer := answers[seat]) is None:
            with RulesCall(self.game.id, "can_win"):
                answer = bool(can_win(self.state, seat))
            self._can_win = (*answers[:seat], answer, *answers[seat + 1 :])
        return answer

    def notation(self, move: int) -> str:
        """A legal move as players of the game write it, by default its token."""
        write = self.game.rules.notation
        if write is None:
            return self.format_move(move)
        with RulesCall(self.game.id, "notation"):
            return str(write(self.state, move))

    def played(self) -> str:
        """The move that led here as players write it; "" without one, and in games that write moves
        as tokens.
        """
        if self._played is None:
            self._played = ""
            if self.last is not None and self.game.rules.notation is not None:
                before, move = self.last
                self._played = Position(self.game, self.options, before).notation(move)
        return self._played

    def view(self) -> PositionView:
        """The view of this position."""
        with RulesCall(self.game.id, "view"):
            view = self.game.rules.view(self.state, self.last)
        if self._result_and_moves()[0] == REPEATED:
            view = structs.replace(view, turn=None, text="Draw by repetition")
        return structs.replace(view, played=self.played()) if self.played() else view

    def move_views(self) -> list[MoveView]:
        """The legal moves as sequences of clicks."""
        moves = self.moves()
        with RulesCall(self.game.id, "move_view"):
            return [self.game.rules.move_view(self.state, move) for move in moves]

    def forced_pass(self) -> str | None:
        """The token of the only legal move if it is made with a button beside the board, such as
        "pass": the player has nothing to choose. None otherwise.
        """
        if len(self.moves()) != 1:
            return None
        (only,) = self.move_views()
        targets = self.game.board(self.options).targets
        return only.id if len(only.path) == 1 and targets.get(only.path[0]) == () else None

    def _result_and_moves(self) -> tuple[int, list[int]]:
        """The result or ONGOING, and the legal moves; computed once."""
        if self._cached_result is None:
            self._cached_result = self.game.result_and_moves(self.state)
            times = self.game.rules.REPETITION
            if times and self._cached_result[0] == ONGOING and self._occurrences() >= times:
                self._cached_result = REPEATED, []
        return self._cached_result

    def _after(self, move: int, state: State) -> "Position":
        """The position after a move that leads to `state`, with its history."""
        past: tuple[int, ...] = ()
        if self.game.rules.counts_repetitions:
            rules: Any = self.game.rules
            with RulesCall(self.game.id, "repetition"):
                back = int(rules.reversible(state))
                if back:
                    past = (*self.past, int(rules.repetition(self.state)))[-back:]
        return Position(self.game, self.options, state, (self.state, move), past)

    def _occurrences(self) -> int:
        """How often this position has occurred in the match, this time included."""
        rules: Any = self.game.rules
        with RulesCall(self.game.id, "repetition"):
            return 1 + self.past.count(int(rules.repetition(self.state)))

    def _malformed(self, text: str) -> MalformedMove:
        return MalformedMove(
            f"{text[:40]!r} is not a move of {self.game.title}, "
            f"which are written like {self._example()}"
        )

    def _example(self) -> str:
        tokens = self.tokens()
        return tokens[0] if tokens else "(no move is left)"
