"""Checks of a compiled game: compiled rules and search return what the uncompiled ones do."""

import random
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.conformance.playouts import PLAYOUTS, expect, playouts, positions, spread
from engine.game import DRAWN, LOST, ONGOING, WON, Game, Position, State
from engine.rules.data import load_data
from engine.search.job import MATE
from engine.search.report import Report

if TYPE_CHECKING:
    from engine.compiler.native import NativeGame

#: Maximum leaves of the plain minimax search with which a search is compared.
MAX_SEARCH_LEAVES = 60_000
#: Maximum depth of that minimax search, in plies.
MAX_SEARCH_DEPTH = 15
#: Positions in which every move is played by compiled and by uncompiled rules.
MOVE_POSITIONS = 400


def check_compiled_rules(game: Game) -> None:
    """The compiled rules return what the uncompiled rules return."""
    pair = RulesPair(game)
    sample = list(positions(game))
    with np.errstate(over="ignore"):
        for position in sample:
            pair.check_values(position)
        for position in spread(sample, MOVE_POSITIONS):
            if game.rules.status(position.state) == ONGOING:
                pair.check_moves(position)


class RulesPair:
    """A game's compiled and uncompiled rules, for comparison."""

    def __init__(self, game: Game) -> None:
        from engine.compiler.intrinsics import Memory
        from engine.compiler.native import compile_game
        from engine.rules.contract import OPTIONAL_HOOKS

        self.rules: Any = game.rules
        self.data = cached_data(game)
        native = compile_game(game)
        self.native_data = native.data
        self.buffer = np.zeros(game.rules.MAX_MOVES, np.int64)
        self.memory = Memory(self.buffer)
        self.optional_hooks = [
            name
            for name in OPTIONAL_HOOKS
            if name != "count" and getattr(game.rules, name) is not None
        ]
        required = ("status", "moves", "play", "no_moves_result", "key", "evaluate", "count")
        self.compiled = {
            name: native.function(f"rule_{name}") for name in (*required, *self.optional_hooks)
        }
        if game.rules.EXTRA_TURNS:
            self.compiled["turn"] = native.function("rule_turn")
        optional_state_hooks = [
            name for name in self.optional_hooks if name in ("drawn", "repetition", "reversible")
        ]
        turn_hook = ("turn",) if game.rules.EXTRA_TURNS else ()
        self.state_hooks = ("status", "key", *turn_hook, *optional_state_hooks)

    def check_values(self, position: Position) -> None:
        state, words, text = position.state, _as_ints(position.state), position.text()
        for name in self.state_hooks:
            expected = int(getattr(self.rules, name)(state))
            compiled_value = self.compiled[name](words)
            expect(
                compiled_value == expected,
                f"{name}: compiled = uncompiled",
                text,
                compiled_value,
                expected,
            )
        value = int(self.rules.evaluate(state, self.data))
        compiled_value = self.compiled["evaluate"](words, self.native_data)
        expect(
            compiled_value == value, "evaluate: compiled = uncompiled", text, compiled_value, value
        )

    def check_moves(self, position: Position) -> None:
        state, words, text = position.state, _as_ints(position.state), position.text()
        buffer = [0] * self.rules.MAX_MOVES
        count = int(self.rules.moves(state, buffer))
        expect(
            self.compiled["count"](words, self.memory) == count,
            "count is the number of moves",
            text,
            count,
        )
        if self.rules.count is not None:
            hook_count = int(self.rules.count(state, [0] * self.rules.MAX_MOVES))
            expect(
                hook_count == count,
                "count is the number of moves, uncompiled",
                text,
                hook_count,
                count,
            )
        expect(
            self.compiled["moves"](words, self.memory) == count,
            "moves: compiled = uncompiled",
            text,
        )
        expected = [int(move) for move in buffer[:count]]
        expect(self.buffer[:count].tolist() == expected, "moves: the same order", text, expected)
        for move in expected:
            after = _as_ints(self.rules.play(state, move))
            expect(
                self.compiled["play"](words, move) == after,
                "play: compiled = uncompiled",
                text,
                move,
            )
        self.check_optional_hooks(position, expected)
        if count == 0:
            result = int(self.rules.no_moves_result(state))
            expect(
                self.compiled["no_moves_result"](words) == result,
                "no_moves_result: compiled = uncompiled",
                text,
            )

    def check_optional_hooks(self, position: Position, moves: list[int]) -> None:
        """Compares the optional hooks of an ongoing state."""
        rules, state, words, text = (
            self.rules,
            position.state,
            _as_ints(position.state),
            position.text(),
        )
        for name in ("unstable", "may_pass"):
            if name in self.optional_hooks:
                value = int(getattr(rules, name)(state))
                expect(value in (0, 1), f"{name} is 0 or 1", text, value)
                expect(self.compiled[name](words) == value, f"{name}: compiled = uncompiled", text)
        for name in ("tactical", "evasions") if moves else ():
            if name in self.optional_hooks:
                buffer = [0] * rules.MAX_MOVES
                count = int(getattr(rules, name)(state, buffer))
                listed = [int(move) for move in buffer[:count]]
                expect(
                    len(set(listed)) == len(listed) and set(listed) <= set(moves),
                    f"{name} moves are legal",
                    text,
                    listed,
                )
                expect(
                    self.compiled[name](words, self.memory) == count,
                    f"{name}: compiled = uncompiled",
                    text,
                )
                expect(
                    self.buffer[:count].tolist() == listed,
                    f"{name}: compiled = uncompiled",
                    text,
                    listed,
                )
        if "evasions" in self.optional_hooks and moves and int(rules.unstable(state)):
            self.check_evasions(position, moves)
        if "probe" in self.optional_hooks:
            value = int(rules.probe(state, self.data))
            expect(
                self.compiled["probe"](words, self.native_data) == value,
                "probe: compiled = uncompiled",
                text,
            )
        for move in moves if "rank" in self.optional_hooks else ():
            rank = int(rules.rank(state, move))
            expect(abs(rank) < 1 << 40, "a rank is within 2**40", text, move, rank)
            expect(
                self.compiled["rank"](words, move) == rank,
                "rank: compiled = uncompiled",
                text,
                move,
                rank,
            )
        if "pass_turn" in self.optional_hooks and moves and int(rules.may_pass(state)):
            passed = rules.pass_turn(state)
            expect(
                rules.turn(passed) == 1 - rules.turn(state),
                "pass_turn passes the turn to the other side",
                text,
            )
            expect(
                self.compiled["pass_turn"](words) == _as_ints(passed),
                "pass_turn: compiled = uncompiled",
                text,
            )

    def check_evasions(self, position: Position, moves: list[int]) -> None:
        """Checks that in an unstable state every move but the evasions loses at once."""
        buffer = [0] * self.rules.MAX_MOVES
        evasions = buffer[: int(self.rules.evasions(position.state, buffer))]
        for move in spread([move for move in moves if evasions and move not in evasions], 8):
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


def _as_ints(state: State) -> tuple[int, ...]:
    return tuple(int(word) for word in state)


def check_no_floats(game: Game) -> None:
    """No variable of the compiled search is floating point: a float is always a mix of word and
    number.

    Freshly compiled code has its types; for code from the cache, the seal lists the floats.
    """
    from engine.compiler.native import compile_game

    native = compile_game(game)
    # The evaluation compiles in a tenth of the time of the search: its floats are told at once.
    for name in ("rule_evaluate", "root"):
        native.function(name)
        floats = native.float_variables()
        expect(not floats, "no variable is floating point", *floats)


def check_search(game: Game, template: ModuleType | None = None) -> None:
    """With `exact_depth` the search returns the values of plain minimax at each depth, both with an
    empty table and with one from earlier searches.
    """
    from engine.search.driver import Control, Searcher, Table
    from engine.search.job import Limit

    searcher = Searcher(game) if template is None else Searcher(game, template)
    rng = random.Random(3)
    small_table = Table(9)
    plain = plain_minimax(game)
    for line in playouts(game, PLAYOUTS, seed=3):
        position = rng.choice([earlier for earlier in line if earlier.moves()])
        check_plain(position, plain)
        depth = searchable_depth(searcher.native, position)
        for margin, table in (
            (0, Table(14)),
            (0, small_table),
            (rng.choice([1, 10, 30, 4 * 30_000]), small_table),
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


#: Returns the value of a position, given the depth and the ply of its node.
PlainSearch = Callable[[Position, int, int], int]


def plain_minimax(game: Game) -> PlainSearch:
    """Compiles the kernel's plain search; returns it as a function of position, depth and ply."""
    from engine.compiler.intrinsics import Memory
    from engine.compiler.native import compile_game
    from engine.search.layout import work_words

    native = compile_game(game)
    function = native.function("plain")
    work = Memory(np.zeros(work_words(game.rules.MAX_MOVES), np.int64))

    def plain(position: Position, depth: int, ply: int) -> int:
        return int(
            function(tuple(int(word) for word in position.state), depth, ply, work, native.data)
        )

    return plain


def check_plain(position: Position, plain: PlainSearch) -> None:
    """Checks that the compiled plain search returns the values of the uncompiled one."""
    for depth in range(4):
        if len(position.moves()) ** depth < 400:
            value, expected = plain(position, depth, 0), minimax(position, depth, 0)
            expect(
                value == expected,
                "plain search: compiled = uncompiled",
                position.text(),
                depth,
                value,
                expected,
            )


def check_report(position: Position, report: Report, plain: PlainSearch) -> None:
    """Checks that a report of a search with `exact_depth` agrees with plain search."""
    values = {
        move: child_sign(position, child) * plain(child, report.depth - 1, 1)
        for move in position.moves()
        for child in (position.play(move),)
    }
    where = (position.text(), f"depth {report.depth}")
    expect(
        report.score == max(values.values()),
        "the search's value is minimax's",
        *where,
        report.score,
        values,
    )
    best = report.moves[0][0]
    expect(values[best] == report.score, "the first move has the best value", *where, best, values)
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


def searchable_depth(native: "NativeGame", position: Position) -> int:
    """Returns the greatest depth at which plain search has at most MAX_SEARCH_LEAVES leaves.

    It counts the leaves: with forced captures, the number of moves at the root says little about
    the size of the tree.
    """
    from engine.perft import perft

    depth = 1
    while depth < MAX_SEARCH_DEPTH and perft(native, position, depth + 1) <= MAX_SEARCH_LEAVES:
        depth += 1
    return depth


def minimax(position: Position, depth: int, ply: int) -> int:
    """Returns the value of a position for its side to move by uncompiled plain minimax.

    It defines the values of the search.
    """
    rules, state = position.game.rules, position.state
    with np.errstate(over="ignore"):
        result = int(rules.status(state))
        if result == ONGOING:
            if rules.drawn is not None and rules.drawn(state):
                return 0
            if depth == 0:
                return int(rules.evaluate(state, cached_data(position.game)))
    if result == ONGOING:
        result, moves = position.game.result_and_moves(state)
        if moves:
            children = (position.play(move) for move in moves)
            return max(
                child_sign(position, child) * minimax(child, depth - 1, ply + 1)
                for child in children
            )
    return {WON: MATE - ply, LOST: ply - MATE, DRAWN: 0}[result]


def child_sign(position: Position, child: Position) -> int:
    """Returns the factor from a child's value to its value for the side to move before it."""
    return 1 if child.turn == position.turn else -1


@cache
def cached_data(game: Game) -> Any:
    """Returns the game's DATA as its uncompiled rules receive it."""
    return load_data(game)
