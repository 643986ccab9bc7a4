"""The tests of the search find planted faults, each a changed line of the kernel."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from engine.conformance.checks import ConformanceError, check_search
from engine.game import Game
from engine.rules.registry import load_game
from engine.search import expectimax, kernel
from engine.search.driver import Searcher
from tests.engine import test_kernel, test_null_move, test_search_options
from tests.engine.test_null_move import passing
from tests.engine.test_search_options import connect_four_with_hooks

__all__ = ["connect_four_with_hooks", "passing"]

#: The kernel with its parts, and expectimax.
FILES = (kernel, *kernel.PARTS, expectimax)
#: The sources of FILES, by name.
SOURCES = {
    Path(str(file.__file__)).stem: Path(str(file.__file__)).read_text("utf-8") for file in FILES
}


def check_exact_depth(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that with exact depth the search has the minimax value."""
    check_search(searcher.game, template)


def check_endgames(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that late positions have their exact scores."""
    test_kernel.test_connect_four_endgames(lambda game_id: searcher)


def check_aborted_searches(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that the table is valid after aborted searches."""
    test_kernel.test_an_aborted_search_leaves_a_valid_table(lambda game_id: searcher)


def check_margin(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that moves within the margin have exact scores."""
    test_kernel.test_margin_gives_exact_scores_to_near_best_moves(lambda game_id: searcher)


def check_node_limit(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that a search stops at its node limit."""
    test_kernel.test_nodes_are_limited_exactly(lambda game_id: searcher)


def check_lines(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that a search of several lines has the scores and lines of the best moves."""
    test_search_options.test_several_lines(lambda game_id: searcher)


def check_contempt(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that a draw scores minus the contempt."""
    test_search_options.test_contempt(lambda game_id: Searcher(load_game(game_id), template))


def check_torn_entries(searcher: Searcher, template: ModuleType) -> None:
    """Asserts that a torn table entry is a miss."""
    test_search_options.test_a_torn_entry_is_a_miss(lambda game_id: searcher)


#: A check of a search with this template, which raises an error if it finds a fault.
Check = Callable[[Searcher, ModuleType], None]
#: Name, check, source text, faulty text.
FAULTS: list[tuple[str, Check, str, str]] = [
    ("wrong bound", check_exact_depth, "bound = LOWER\n    elif", "bound = EXACT\n    elif"),
    (
        "bounds swapped",
        check_exact_depth,
        "(bound == LOWER and score >= beta)",
        "(bound == LOWER)",
    ),
    (
        "no negation",
        check_exact_depth,
        "else -alpha_beta(child, depth, -high, -low, ply",
        "else alpha_beta(child, depth, -high, -low, ply",
    ),
    (
        "skipped child",
        check_exact_depth,
        "    for i in range(n):\n        if i == 1:\n",
        "    for i in range(n - (n > 3)):\n        if i == 1:\n",
    ),
    (
        "depth not compared",
        check_exact_depth,
        "is_deep_enough = entry_plies == depth or (entry_plies > depth and W[EXACT_DEPTH] == 0)",
        "is_deep_enough = True",
    ),
    (
        "no second search",
        check_exact_depth,
        "if v > low and v < beta and W[STOP] == 0:",
        "if v > low + 7 and v < beta and W[STOP] == 0:",
    ),
    (
        "mate distance stored from the root",
        check_endgames,
        "    if best > MATE_BOUND:\n        stored += ply\n",
        "    if best > MATE_BOUND:\n        stored += 0\n",
    ),
    (
        "horizon not counted",
        check_endgames,
        "        W[HORIZONS] += 1\n        return evaluate",
        "        return evaluate",
    ),
    (
        "stored after a stop",
        check_aborted_searches,
        "        if W[STOP] != 0:\n            return 0\n\n        # 10",
        "        if W[STOP] != 0:\n            break\n\n        # 10",
    ),
    (
        "margin off by one",
        check_margin,
        "v > floor and W[STOP] == 0",
        "v > floor + 4 and W[STOP] == 0",
    ),
    (
        "late stop",
        check_node_limit,
        "        W[POLL] = W[NODE_LIMIT]\n",
        "        W[POLL] = W[NODE_LIMIT] + 1\n",
    ),
    (
        "too few lines",
        check_lines,
        "floor = min(floor, best_scores[W[LINES] - 1])",
        "floor = min(floor, best_scores[1])",
    ),
    (
        "line of another ply",
        check_lines,
        "child_line = pv_moves(W, 1)",
        "child_line = pv_moves(W, 0)",
    ),
    (
        "a draw for the other side",
        check_contempt,
        "-W[DRAW_VALUE] if side_at(W, ply) != 0 else W[DRAW_VALUE]",
        "W[DRAW_VALUE]",
    ),
    (
        "values of another contempt",
        check_contempt,
        "key(s) ^ U(W[SALT])",
        "key(s) ^ U(W[SALT] & 0)",
    ),
    (
        "only two bits of the key compared",
        check_torn_entries,
        "T[slot] ^ entry == k  #",
        "(T[slot] ^ entry) >> U(62) == k >> U(62)  #",
    ),
]
#: Faults in the use of the optional hooks.
HOOK_FAULTS = {
    "horizon of quiescence not counted": (
        "    W[HORIZONS] += 1\n    is_unstable = ",
        "    is_unstable = ",
    ),
    "no extension in unstable positions": ("            depth += 1\n", "            depth += 0\n"),
}
#: Faults of null move, each with the check that finds it.
PASSING_FAULTS: dict[str, tuple[Callable[[Searcher], None], str, str]] = {
    "a pass that the game forbids": (
        test_null_move.check_permission,
        "        and can_pass != 0\n",
        "",
    ),
    "a pass out of check": (
        test_null_move.check_permission,
        "    if is_unstable == 0:\n        if beta - alpha == 1",
        "    if True:\n        if beta - alpha == 1",
    ),
    "a pass near the horizon": (
        test_null_move.check_permission,
        "depth >= NULL_DEPTH",
        "depth >= 2",
    ),
    "two passes": (
        test_null_move.check_no_two_passes,
        "        and previous_move != NO_MOVE\n",
        "",
    ),
    "a mate score by passing": (
        test_null_move.check_mate_scores,
        "return beta if v > MATE_BOUND else v",
        "return v",
    ),
    "no verification": (
        test_null_move.check_zugzwang,
        "if depth < VERIFY_DEPTH:",
        "if depth < 1000:",
    ),
    "a pass inside the verification": (
        test_null_move.check_zugzwang,
        "W[NULL_FROM] = ply + (3 * (null_depth + 1)) // 4",
        "W[NULL_FROM] = outer_null_from",
    ),
    "failed verification ignored": (
        test_null_move.check_zugzwang,
        "            if verified >= beta:\n",
        "            if verified >= -INF:\n",
    ),
}


def test_the_kernel_contains_the_original_texts() -> None:
    """The kernel contains the source text that each fault replaces."""
    texts = [original for _, _, original, _ in FAULTS] + [
        original for _, original, _ in PASSING_FAULTS.values()
    ]
    texts += [original for original, _ in HOOK_FAULTS.values()]
    assert [text for text in texts if not any(text in source for source in SOURCES.values())] == []


@pytest.fixture
def planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], ModuleType]]:
    """Returns a function that imports the kernel with one piece of text replaced."""
    packages: list[str] = []
    monkeypatch.syspath_prepend(tmp_path)

    def plant(original: str, faulty: str) -> ModuleType:
        assert any(original in source for source in SOURCES.values()), (
            "the kernel has changed: adapt the planted fault"
        )
        package = f"planted_kernel_{len(packages)}"
        packages.append(package)
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        for name, source in SOURCES.items():
            rewritten = re.sub(
                rf"from engine\.search(?=\.({'|'.join(SOURCES)})\b| import)",
                f"from {package}",
                source,
            )
            (tmp_path / package / f"{name}.py").write_text(rewritten.replace(original, faulty))
        importlib.invalidate_caches()
        return importlib.import_module(f"{package}.kernel")

    yield plant
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "original", "faulty"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_fault_is_found(
    planted: Callable[[str, str], ModuleType], check: Check, original: str, faulty: str
) -> None:
    """With one faulty line in the kernel, the check that covers it fails."""
    template = planted(original, faulty)
    with pytest.raises((ConformanceError, AssertionError)):
        check(Searcher(load_game("connect-four"), template), template)


@pytest.mark.long
@pytest.mark.parametrize(("original", "faulty"), HOOK_FAULTS.values(), ids=HOOK_FAULTS)
def test_a_fault_in_the_use_of_hooks_is_found(
    planted: Callable[[str, str], ModuleType],
    connect_four_with_hooks: Game,
    original: str,
    faulty: str,
) -> None:
    """With a fault in the use of the optional hooks, their check fails."""
    with pytest.raises(AssertionError):
        test_search_options.check_hooks(
            Searcher(connect_four_with_hooks, planted(original, faulty), compiled=False)
        )


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "original", "faulty"), PASSING_FAULTS.values(), ids=PASSING_FAULTS
)
def test_a_fault_in_null_move_is_found(
    planted: Callable[[str, str], ModuleType],
    passing: Game,
    check: Callable[[Searcher], None],
    original: str,
    faulty: str,
) -> None:
    """With a fault in null move, the check that covers it fails."""
    with pytest.raises(AssertionError):
        check(Searcher(passing, planted(original, faulty), compiled=False))


@pytest.mark.long
@pytest.mark.parametrize("check", dict.fromkeys(fault[1] for fault in FAULTS))
def test_the_unchanged_kernel_passes(
    planted: Callable[[str, str], ModuleType], check: Check
) -> None:
    """The unchanged kernel passes all checks."""
    template = planted("", "")
    check(Searcher(load_game("connect-four"), template), template)
