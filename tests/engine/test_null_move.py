"""Null move: where the search may pass, which scores it trusts, and verification in zugzwang."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.game import Game
from engine.rules.registry import load_game
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.features import BASIC, IMPROVING, NULL_MOVE
from engine.search.job import Limit
from engine.search.parameters import NULL_DEPTH, VERIFY_DEPTH
from engine.search.report import Report

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]
#: Features without null move. With IMPROVING the search computes the static evaluation even where
#: it may not pass.
WITHOUT_PASSES = BASIC | IMPROVING
#: The same features with null move.
WITH_PASSES = WITHOUT_PASSES | NULL_MOVE

#: The seeds of random positions. Their searches are not compiled, which would take longer.
SEEDS = range(2)

#: Chess positions in which a pass is not allowed.
PAWN_ENDINGS = (
    "8/pp3k2/2p5/3p4/3P4/2P5/PP3K2/8 w - - 0 1",
    "4k3/1p4pp/p7/8/8/2P4P/5PP1/4K3 b - - 0 1",
)

#: The rules of an artificial game in which the side to move may pass.
PASSING = '''"""An endless tree with three moves a node; an option decides the effect of a pass."""

from typing import Any

import numpy as np

from engine.game import LOST, ONGOING, Option, State
from engine.jit import U, rule

NAME, TITLE, RULES, DATA, LEVELS, MARGIN = "passing", "Passing", "", (), 1, 2000
WORDS, MAX_MOVES = 2, 3
# The effect of a pass by mode: it is illegal; it is legal in unstable states, and gains a lot; it
# gains a lot in any state; the second pass in a row gains a lot, or loses a lot; it mates; it is
# the only move that does not lose.
MODES = ("never", "unstable", "free", "again", "again worse", "wins", "zugzwang")
OPTIONS = {"pass": Option("Passing", "never", MODES)}
# Bits of the second word: the effect of a pass, the side to move, whether the last move was a pass,
# whether a pass gained or lost the side to move a lot, and whether it is mated.
MODE, SIDE, PASSED, GAINED, LOST_ALL, MATED = U(15), U(16), U(32), U(64), U(128), U(256)
# In this mode the first word is a ply and a branch. The first side may trade, or put the second
# side in zugzwang: each of its moves then costs a lot three plies later, and only a pass does not.
ZUGZWANG = U(6)
ROOT, TRADED, SQUEEZED, LOSING = U(0), U(1 << 8), U(2 << 8), U(3 << 8)
PLY = U(255)


@rule
def mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> U(30))) * U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> U(27))) * U(0x94D049BB133111EB)
    return word ^ (word >> U(31))


def init(options: Any) -> State:
    return U(0), U(MODES.index(options["pass"]))


@rule
def status(s: State) -> int:
    return LOST if s[1] & MATED else ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    for i in range(MAX_MOVES):
        buf[i] = i
    return MAX_MOVES


@rule
def switch_sides(flags: np.uint64) -> np.uint64:
    """The flags after a change of sides: a gain of one side is a loss of the other."""
    mode_and_side = (flags & MODE) | ((flags & SIDE) ^ SIDE)
    return mode_and_side | ((flags & GAINED) << U(1)) | ((flags & LOST_ALL) >> U(1))


@rule
def advance(word: np.uint64, m: int) -> np.uint64:
    """The ply and the branch after a move; a pass is move -1."""
    ply = (word & PLY) + U(1)
    branch = word & ~PLY
    if ply == U(1):
        branch = TRADED if m == 0 else SQUEEZED
    elif ply == U(2) and branch == SQUEEZED:
        branch = LOSING if m >= 0 else ROOT
    return ply | branch


@rule
def play(s: State, m: int) -> State:
    if s[1] & MODE == ZUGZWANG:
        return advance(s[0], m), switch_sides(s[1])
    return mix(s[0] + U(m) + U(1)), switch_sides(s[1])


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def key(s: State) -> np.uint64:
    return mix(s[0] ^ ((s[1] & ~MODE) << U(50))) | U(1)


@rule
def evaluate(s: State, data: Any) -> int:
    if s[1] & MODE == ZUGZWANG:
        gain = 50 if s[0] & ~PLY == TRADED else 0
        if s[0] & ~PLY == LOSING and s[0] & PLY >= U(5):
            gain = 600
        return -gain if s[1] & SIDE else gain
    value = np.int64(s[0] & U(255)) - 128
    if s[1] & GAINED:
        value += 9000
    if s[1] & LOST_ALL:
        value -= 9000
    return value


@rule
def unstable(s: State) -> int:
    return 1 if (s[0] >> U(20)) & U(3) == U(0) and s[1] & MODE != ZUGZWANG else 0


@rule
def may_pass(s: State) -> int:
    mode = s[1] & MODE
    if mode == U(0):
        return 0
    if mode == U(1):
        return unstable(s)
    return 1


@rule
def pass_turn(s: State) -> State:
    mode, after = s[1] & MODE, mix(s[0])
    flags = switch_sides(s[1])
    if mode == ZUGZWANG:
        return advance(s[0], -1), flags
    if mode <= U(2):
        return after, (flags & ~GAINED) | LOST_ALL
    if mode == U(5):
        return after, flags | MATED
    if s[1] & PASSED:
        return after, (flags & ~(GAINED | LOST_ALL)) | (LOST_ALL if mode == U(3) else GAINED)
    return after, flags | PASSED


def turn(s: State) -> int:
    return int(s[1] >> U(4)) & 1


def parse_move(s: State, text: str) -> int:
    return int(text)


def format_move(s: State, m: int) -> str:
    return str(m)


def parse_position(text: str, options: Any) -> State:
    word, side = text.split()
    return U(int(word)), U(MODES.index(options["pass"]) + 16 * int(side))


def format_position(s: State) -> str:
    return f"{int(s[0])} {turn(s)}"


def ending(s: State) -> str:
    return "mated"


def board(options: Any) -> Any:
    raise NotImplementedError


def view(s: State, last: Any) -> Any:
    raise NotImplementedError


def move_view(s: State, m: int) -> Any:
    raise NotImplementedError
'''


@pytest.fixture
def passing(plug_in: Callable[[str, str], Path]) -> Game:
    """Returns the game of the source PASSING."""
    plug_in("passing", PASSING)
    return load_game("passing")


def search_passing(
    searcher: Searcher, mode: str, seed: int, depth: int, features: int = WITH_PASSES
) -> Report:
    """Searches a random position of the game, in which a pass has the effect `mode`."""
    position = searcher.game.position(f"{random.Random(seed).getrandbits(60)} 0", {"pass": mode})
    return searcher.search(position, Limit(depth=depth), Table(14), Control(), features=features)


def signature_of(report: Report) -> tuple[object, ...]:
    """Returns the parts of a report that differ if the search passed."""
    return report.nodes, report.score, report.moves


def check_permission(searcher: Searcher) -> None:
    """Asserts that the search passes only where it may."""
    for seed in SEEDS:
        expected = signature_of(search_passing(searcher, "never", seed, 7, WITHOUT_PASSES))
        assert signature_of(search_passing(searcher, "never", seed, 7)) == expected
        assert signature_of(search_passing(searcher, "unstable", seed, 7)) == expected
        assert signature_of(search_passing(searcher, "free", seed, 7)) != expected, (
            "it passes where it may"
        )
        shallow = signature_of(search_passing(searcher, "free", seed, NULL_DEPTH, WITHOUT_PASSES))
        assert signature_of(search_passing(searcher, "free", seed, NULL_DEPTH)) == shallow


def check_no_two_passes(searcher: Searcher) -> None:
    """Asserts that the search does not pass twice in a row, in a position in which the effect of
    a second pass would change the search.
    """
    again, worse = (search_passing(searcher, mode, 2, 11) for mode in ("again", "again worse"))
    assert signature_of(again) == signature_of(worse)
    for seed in SEEDS:
        signature = signature_of(search_passing(searcher, "again", seed, 8))
        assert signature != signature_of(search_passing(searcher, "never", seed, 8)), "it passes"


def check_mate_scores(searcher: Searcher) -> None:
    """Asserts that no score claims a mate after a pass."""
    for seed in SEEDS:
        report = search_passing(searcher, "wins", seed, 7)
        assert all(abs(score) < layout.MATE_BOUND for _, score, _ in report.moves)
        assert signature_of(report) != signature_of(search_passing(searcher, "never", seed, 7)), (
            "it passes"
        )


def test_no_pass_where_the_game_forbids_it(passing: Game) -> None:
    """The search does not pass where `may_pass` is 0, in unstable states, or near the horizon."""
    check_permission(Searcher(passing, compiled=False))


def test_no_two_passes_in_a_row(passing: Game) -> None:
    """The search never passes in answer to a pass."""
    check_no_two_passes(Searcher(passing, compiled=False))


def test_no_mate_by_passing(passing: Game) -> None:
    """No score claims a mate that depends on a pass."""
    check_mate_scores(Searcher(passing, compiled=False))


def test_pawn_endings_are_searched_without_passes(searcher_of: Searchers) -> None:
    """In chess the search does not pass in pawn endings; with a knight for each side it does."""
    searcher = searcher_of("chess")

    def nodes(text: str, features: int) -> int:
        return searcher.search(
            searcher.game.position(text), Limit(depth=7), Table(16), Control(), features=features
        ).nodes

    for text in PAWN_ENDINGS:
        assert nodes(text, WITH_PASSES) == nodes(text, WITHOUT_PASSES)
        knights = text.replace("p", "n", 1).replace("P", "N", 1)
        assert nodes(knights, WITH_PASSES) < nodes(knights, WITHOUT_PASSES)


def check_zugzwang(searcher: Searcher) -> None:
    """Asserts that verification finds the value in zugzwang."""
    start = searcher.game.start({"pass": "zugzwang"})

    def search(depth: int, features: int) -> tuple[int, str]:
        report = searcher.search(start, Limit(depth=depth), Table(14), Control(), features=features)
        return report.score, "trade" if report.line[0] == 0 else "squeeze"

    for depth in range(1, 18):
        exact = (600, "squeeze") if depth >= 5 else (50, "trade")
        assert search(depth, WITHOUT_PASSES) == exact
        is_unverified = depth <= VERIFY_DEPTH
        assert search(depth, WITH_PASSES) == ((50, "trade") if is_unverified else exact), (
            f"depth {depth}"
        )


def test_zugzwang(passing: Game) -> None:
    """In zugzwang a search deeper than VERIFY_DEPTH verifies a pass and finds the right value."""
    check_zugzwang(Searcher(passing, compiled=False))
