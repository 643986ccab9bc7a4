"""The tests of graphs, the table, drawings, steps, the quiz and costs find planted faults."""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from engine.teach.algorithms import cost, deepening, table
from engine.teach.lessons import catalogue, efficiency, lesson, quiz
from engine.teach.output import drawing, machine, snapshot, stepping, style, svg, text
from engine.teach.states import graph, graph_text
from tests.engine.teach import test_cost, test_drawings, test_graphs, test_lessons, test_stepping

#: A check, which raises AssertionError if it finds a fault.
Check = Callable[[], None]


def for_ten_seeds(test: Callable[[int], None]) -> Check:
    """Returns a check that runs a test with ten seeds."""

    def check() -> None:
        for seed in range(10):
            test(seed)

    return check


def check_tables() -> None:
    """Runs the tests of the table."""
    test_graphs.test_a_bound_of_a_table_serves_its_window_only()
    test_graphs.test_a_nearer_win_is_worth_more_with_a_table()
    for seed in range(25):
        test_graphs.test_a_table_changes_no_value(seed, "alphabeta")


def check_error_places() -> None:
    """Runs the test of the places of errors."""
    for wrong in test_graphs.WRONG:
        test_graphs.test_errors_have_their_place(wrong)


def check_questions() -> None:
    """Runs the test of the questions about cut-offs."""
    for seed in range(10):
        test_stepping.test_a_question_about_a_cut_comes_before_the_next_child(seed)


def check_a_lesson() -> None:
    """Runs the test of two lessons, searched again."""
    catalogue.lesson_traces.cache_clear()
    for name in ("four-level-tree", "rock-paper-scissors"):
        test_lessons.test_a_lesson_shows_its_numbers_on_one_screen(name)
    test_lessons.test_the_solution_of_the_exercise_is_hidden()


def check_deepening() -> None:
    """Asserts that iterative deepening visits as many nodes as its lesson states."""
    efficiency.deepening_nodes.cache_clear()
    catalogue.lesson_traces.cache_clear()
    test_lessons.test_a_lesson_shows_its_numbers_on_one_screen("deepening")


#: The name of a fault, the check that finds it, the module, the right text and the wrong one.
FAULTS: list[tuple[str, Check, ModuleType, str, str]] = [
    ("a bound as a value", check_tables, table, "self.low >= beta", "self.low > alpha"),
    ("any upper bound", check_tables, table, "self.high <= alpha", "self.high <= beta"),
    ("depth not in the key", check_tables, table, "state.text(), depth,", "state.text(), 0,"),
    (
        *("ply not in the key", check_tables, table),
        *("state.ply if is_ply_scored else 0", "0"),
    ),
    (
        *("bounds stored as values", check_tables, table),
        *("(visit.low, visit.high) if prunes else (value, value)", "(value, value)"),
    ),
    (
        *("leaves counted twice", test_graphs.test_the_states_of_games, graph),
        *("if below else (0, 1)", "if below else (1, 1)"),
    ),
    ("half a cycle", test_graphs.test_cycles, graph, "path[path.index(target) :]", "target"),
    ("unreachable states", check_error_places, graph_text, "self._check_reachable()\n", "pass\n"),
    (
        *("place of a reference", check_error_places, graph_text),
        *('self.fail_at(index, f"there is no', 'self.fail_at(0, f"there is no'),
    ),
    (
        *("interval turned around", test_drawings.test_the_tree_half_way, snapshot),
        *("parent.low, parent.high = low, high", "parent.low, parent.high = high, low"),
    ),
    (
        *("cuts seen too early", test_drawings.test_the_tree_half_way, snapshot),
        *("if seen.cut or seen.is_done else []", ""),
    ),
    ("continued lines", test_drawings.test_guide_lines, style, "if row.is_continued:", "if False:"),
    (
        *("long lines of leaves", test_drawings.test_many_leaves_have_a_line_each, drawing),
        *("len(text) <= room and ", ""),
    ),
    (
        *("a window too late", test_drawings.test_a_line_of_the_log_includes_the_new_window, text),
        *("yield count + has_narrowed, line", "yield count, line"),
    ),
    (
        *("leaves overlap", for_ten_seeds(test_drawings.test_a_tree_as_svg), svg),
        *("self.right += width + 12", "self.right += width - 12"),
    ),
    (
        "arrows upwards",
        for_ten_seeds(test_drawings.test_a_graph_without_cycles_goes_down),
        machine,
        *("max(level[target], level[name] + 1)", "level[target]"),
    ),
    ("back too far", test_stepping.test_the_keys, stepping, "max(index - 1, 0)", "index - 2"),
    (
        *("a part without the node", lambda: test_stepping.test_a_page_fits_the_screen(10)),
        *(stepping, "lines = lines[top : top + height]", "lines = lines[:height]"),
    ),
    (
        *("answers shown", test_stepping.test_a_question_does_not_show_its_answer, quiz),
        *("hidden = shown.path() | {row}", "hidden = set()"),
    ),
    (
        *("questions after the last move", check_questions, quiz),
        *("if not remaining[parent] or", "if"),
    ),
    (
        *("windows of the quiz", check_questions, quiz),
        *("windows[parent] = steps.low[count], steps.high[count]", "pass"),
    ),
    (
        *("sums for products", test_cost.test_the_estimate_of_tic_tac_toe, cost),
        *("width *= len(moves)", "width += len(moves)"),
    ),
    (
        *("impossible searches begin", test_cost.test_impossible_searches_are_refused_at_once),
        *(cost, "if least > plan.max_nodes:", "if False:"),
    ),
    (
        *("no order by the search before", check_deepening, deepening),
        *("best = best_moves(root, traces[-1])", "pass"),
    ),
    ("another node's value", check_a_lesson, lesson, "if nodes.parent[row] == 0", "if True"),
    (
        *("the solution shown", check_a_lesson, lesson),
        *("if len(drawn) < len(runs) and not lesson.solution:", "if len(drawn) < len(runs):"),
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def fresh_lessons() -> Iterator[None]:
    """Clears the caches of lessons that were searched with a planted fault."""
    yield
    efficiency.deepening_nodes.cache_clear()
    catalogue.lesson_traces.cache_clear()


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "module", "right", "wrong"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_planted_fault_is_found(
    planted: Callable[[ModuleType, str, str], None],
    check: Check,
    module: ModuleType,
    right: str,
    wrong: str,
) -> None:
    """With one fault planted into the source, the check that covers it fails."""
    check()
    planted(module, right, wrong)
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        check()
