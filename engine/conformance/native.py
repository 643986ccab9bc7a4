"""Checks of a compiled game: its rules and search give the same results as uncompiled."""

import random
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.conformance.playouts import PLAYOUTS, expect, playouts, positions, spread
from engine.game import ONGOING, Game, Position, State
from engine.rules.data import load_data
from engine.search.report import Report

if TYPE_CHECKING:
    from engine.compiler.native import NativeGame

#: Leaves of the plain minimax at the deepest depth that is checked.
SEARCH_LEAVES = 60_000
#: The deepest depth that is checked, in plies.
MAX_SEARCH_DEPTH = 15
#: Positions in which every move is played, compiled and uncompiled.
MOVED_POSITIONS = 400


def check_compiled_rules(game: Game) -> None:
    """The compiled rules do exactly what the uncompiled ones do."""
    both = Both(game)
    everywhere = list(positions(game))
    with np.errstate(over="ignore"):
        for position in everywhere:
            both.check_values(position)
        for position in spread(everywhere, MOVED_POSITIONS):
            if game.rules.status(position.state) == ONGOING:
                both.check_moves(position)


class Both:
    """A game's rules, compiled and uncompiled side by side."""

    def __init__(self, game: Game) -> None:
        from engine.compiler.native import OPTIONAL_HOOKS, Memory, compile_game

        self.rules: Any = game.rules
        self.data = data_of(game)
        native = compile_game(game)
        self.native_data = native.data
        self.buffer = np.zeros(game.rules.MAX_MOVES, np.int64)
        self.memory = Memory(self.buffer)
        self.optional = [
            name
            for name in OPTIONAL_HOOKS
            if name != "count" and getattr(game.rules, name) is not None
        ]
        required = ("status", "moves", "play", "no_moves_result", "key", "evaluate", "count")
        self.compiled = {
            name: native.function(f"rule_{name}") for name in (*required, *self.optional)
        }
        of_any = [name for name in self.optional if name in ("drawn", "repetition", "reversible")]
        self.of_a_state = ("status", "key", *of_any)

    def check_values(self, position: Position) -> None:
        state, words, where = position.state, _ints(position.state), position.text()
        for name in self.of_a_state:
            expected = int(getattr(self.rules, name)(state))
            found = self.compiled[name](words)
            expect(found == expected, f"{name}: compiled = uncompiled", where, found, expected)
        value = int(self.rules.evaluate(state, self.data))
        found = self.compiled["evaluate"](words, self.native_data)
        expect(found == value, "evaluate: compiled = uncompiled", where, found, value)

    def check_moves(self, position: Position) -> None:
        state, words, where = position.state, _ints(position.state), position.text()
        mine = [0] * self.rules.MAX_MOVES
        number = int(self.rules.moves(state, mine))
        expect(
            self.compiled["count"](words, self.memory) == number,
            "count is the number of moves",
            where,
            number,
        )
        if self.rules.count is not None:
            counted = int(self.rules.count(state, [0] * self.rules.MAX_MOVES))
            expect(
                counted == number,
                "count is the number of moves, uncompiled",
                where,
                counted,
                number,
            )
        expect(
            self.compiled["moves"](words, self.memory) == number,
            "moves: compiled = uncompiled",
            where,
        )
        expected = [int(move) for move in mine[:number]]
        expect(self.buffer[:number].tolist() == expected, "moves: the same order", where, expected)
        for move in expected:
            after = _ints(self.rules.play(state, move))
            expect(
                self.compiled["play"](words, move) == after,
                "play: compiled = uncompiled",
                where,
                move,
            )
        self.check_hints(position, expected)
        if number == 0:
            result = int(self.rules.no_moves_result(state))
            expect(
                self.compiled["no_moves_result"](words) == result,
                "no_moves_result: compiled = uncompiled",
                where,
            )

    def check_hints(self, position: Position, moves: list[int]) -> None:
        """The optional hooks of an ongoing state: tactical moves, stability, move order, passes."""
        rules, state, words, where = (
            self.rules,
            position.state,
            _ints(position.state),
            position.text(),
        )
        for name in ("unstable", "may_pass"):
            if name in self.optional:
                hint = int(getattr(rules, name)(state))
                expect(hint in (0, 1), f"{name} is 0 or 1", where, hint)
                expect(self.compiled[name](words) == hint, f"{name}: compiled = uncompiled", where)
        for name in ("tactical", "evasions") if moves else ():
            if name in self.optional:
                buffer = [0] * rules.MAX_MOVES
                number = int(getattr(rules, name)(state, buffer))
                some = [int(move) for move in buffer[:number]]
                expect(
                    len(set(some)) == len(some) and set(some) <= set(moves),
                    f"{name} moves are legal",
                    where,
                    some,
                )
                expect(
                    self.compiled[name](words, self.memory) == number,
                    f"{name}: compiled = uncompiled",
                    where,
                )
                expect(
                    self.buffer[:number].tolist() == some,
                    f"{name}: compiled = uncompiled",
                    where,
                    some,
                )
        if "evasions" in self.optional and moves and int(rules.unstable(state)):
            self.check_evasions(position, moves)
        if "probe" in self.optional:
            known = int(rules.probe(state, self.data))
            expect(
                self.compiled["probe"](words, self.native_data) == known,
                "probe: compiled = uncompiled",
                where,
            )
        for move in moves if "rank" in self.optional else ():
            place = int(rules.rank(state, move))
            expect(abs(place) < 1 << 40, "a rank is within 2**40", where, move, place)
            expect(
                self.compiled["rank"](words, move) == place,
                "rank: compiled = uncompiled",
                where,
                move,
                place,
            )
        if "pass_turn" in self.optional and moves and int(rules.may_pass(state)):
            passed = rules.pass_turn(state)
            expect(
                rules.turn(passed) == 1 - rules.turn(state),
                "passing gives the turn to the other side",
                where,
            )
            expect(
                self.compiled["pass_turn"](words) == _ints(passed),
                "pass_turn: compiled = uncompiled",
                where,
            )

    def check_evasions(self, position: Position, moves: list[int]) -> None:
        """Where an unstable state lists its evasions, every other move loses at once."""
        buffer = [0] * self.rules.MAX_MOVES
        left = buffer[: int(self.rules.evasions(position.state, buffer))]
        for move in spread([move for move in moves if left and move not in left], 8):
            after = position.play(move)
            replies = (after.play(reply).outcome() for reply in after.moves())
            is_lost = any(
                reply is not None and reply.winner == 1 - position.turn for reply in replies
            )
            expect(
                is_lost,
                "a move that is not an evasion loses at once",
                position.text(),
                position.format_move(move),
            )


def _ints(state: State) -> tuple[int, ...]:
    return tuple(int(word) for word in state)


def check_no_floats(game: Game) -> None:
    """No variable of the compiled search is floating point: that is always a mix-up of signed and
    unsigned.

    It shows only when code is compiled, or in the record of that compilation in the cache.
    """
    from engine.compiler.native import compile_game

    native = compile_game(game)
    native.function("root")
    expect(not native.float_typed(), "no variable is floating point", *native.float_typed())


def check_search(game: Game, template: ModuleType | None = None) -> None:
    """In its exact profile the search returns the values of a plain minimax, at each depth and with
    any table.
    """
    from engine.search.driver import Control, Searcher, Table
    from engine.search.job import Limit

    searcher = Searcher(game) if template is None else Searcher(game, template)
    chance = random.Random(3)
    used = Table(9)
    plain = plain_minimax(game)
    for line in playouts(game, PLAYOUTS, seed=3):
        position = chance.choice([earlier for earlier in line if earlier.moves()])
        check_plain(position, plain)
        depth = depth_of_leaves(searcher.native, position)
        for margin, table in (
            (0, Table(14)),
            (0, used),
            (chance.choice([1, 10, 30, 4 * 30_000]), used),
        ):
            reports: list[Report] = []
            searcher.search(
                position,
                Limit(depth=depth),
                table,
                Control(),
                margin=margin,
                exact_depth=True,
                on_depth=reports.append,
            )
            for report in reports:
                check_report(position, report, plain)


Plain = Callable[[Position, int, int], int]


def plain_minimax(game: Game) -> Plain:
    """The kernel's plain search, compiled: the value of a position to a depth, at a ply."""
    from engine.compiler.native import Memory, compile_game
    from engine.search.layout import work_words

    native = compile_game(game)
    function = native.function("plain")
    work = Memory(np.zeros(work_words(game.rules.MAX_MOVES), np.int64))

    def plain(position: Position, depth: int, ply: int) -> int:
        return int(
            function(tuple(int(word) for word in position.state), depth, ply, work, native.data)
        )

    return plain


def check_plain(position: Position, plain: Plain) -> None:
    """The compiled plain search returns the values of the uncompiled one."""
    for depth in range(4):
        if len(position.moves()) ** depth < 400:
            found, expected = plain(position, depth, 0), minimax(position, depth, 0)
            expect(
                found == expected,
                "plain search: compiled = uncompiled",
                position.text(),
                depth,
                found,
                expected,
            )


def check_report(position: Position, report: Report, plain: Plain) -> None:
    """A report of the exact profile agrees with the plain values."""
    values = {move: -plain(position.play(move), report.depth - 1, 1) for move in position.moves()}
    where = (position.text(), f"depth {report.depth}")
    expect(
        report.score == max(values.values()),
        "the search's value is minimax's",
        *where,
        report.score,
        values,
    )
    best = report.moves[0][0]
    expect(values[best] == report.score, "the first move is a best one", *where, best, values)
    for move, score, bound in report.moves:
        is_right = values[move] == score if bound == 0 else values[move] <= score
        expect(
            is_right,
            "each move's score is exact or an upper bound",
            *where,
            move,
            score,
            bound,
            values,
        )


def depth_of_leaves(native: "NativeGame", position: Position) -> int:
    """The greatest depth at which a plain search has at most SEARCH_LEAVES leaves.

    The leaves are counted: where a capture is forced, the number of moves at the root says little
    about the size of the tree.
    """
    from engine.perft import perft

    depth = 1
    while depth < MAX_SEARCH_DEPTH and perft(native, position, depth + 1) <= SEARCH_LEAVES:
        depth += 1
    return depth


def minimax(position: Position, depth: int, ply: int) -> int:
    """The value of a position for its side to move, by a minimax without pruning, as the kernel's
    contract defines it.
    """
    rules, state = position.game.rules, position.state
    with np.errstate(over="ignore"):
        result = int(rules.status(state))
        if result == ONGOING:
            if rules.drawn is not None and rules.drawn(state):
                return 0
            if depth == 0:
                return int(rules.evaluate(state, data_of(position.game)))
    if result == ONGOING:
        result, moves = position.game.settle(state)
        if moves:
            return max(-minimax(position.play(move), depth - 1, ply + 1) for move in moves)
    return {1: 30_000 - ply, 2: ply - 30_000, 3: 0}[result]


@cache
def data_of(game: Game) -> Any:
    """The game's DATA as its uncompiled rules receive it."""
    return load_data(game)
