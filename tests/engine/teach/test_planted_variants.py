"""The checks find errors that are planted into the variants, the designs and the logs."""

from collections.abc import Callable
from types import ModuleType

import pytest

from engine.teach import trace
from engine.teach.algorithms import (
    cutoffs,
    explain,
    flat,
    mapping,
    meaning,
    pair,
    polymorphic,
    study,
    variants,
)
from engine.teach.output import classic, compare, text
from engine.teach.states import board, evaluators, players
from engine.teach.states.state import Scale
from tests.engine.teach import (
    test_designs,
    test_founding_numbers,
    test_founding_texts,
    test_trace,
    test_variants,
    test_worked_examples,
)

#: A check, which raises AssertionError if it finds an error.
Check = Callable[[], None]
#: The number of random trees on which an algorithm and its transcription are compared.
TREE_COUNT = 40


def text_check(name: str) -> Check:
    """Returns the check that an algorithm visits what its transcription visits."""

    def check() -> None:
        test_founding_texts.check_case(name, TREE_COUNT)

    return check


# The checks of the cases that the planted errors concern.
FAIL_SOFT, FAIL_HARD = text_check("fail-soft (004)"), text_check("fail-hard (000)")
STRICT, ONE_BOUND = text_check("strict (002)"), text_check("one-bound (003)")
PARENT_BOUND = text_check("parent-bound (001)")
ACCUMULATORS, PAIR, NODES = (
    text_check("accumulators (001)"),
    text_check("pair (000)"),
    text_check("nodes"),
)
GREEDY, OPTIMISTIC = text_check("greedy (003)"), text_check("optimistic (004)")
FIRST_PLAYER, THIRD_PLAYER = text_check("player 1 (004)"), text_check("player 3 (004)")
FRESH = text_check("fail-hard, fresh (000)")


def check_status_visitor() -> None:
    """Asserts that the board calls the method for its status."""
    test_designs.test_the_status_visitor()


def check_take_back() -> None:
    """Asserts that a map leaves the board as it was, and ends when it has enough."""
    test_designs.test_the_board_maps_until_the_accumulator_has_enough()


def check_update_best() -> None:
    """Asserts that the status of the board decides what the accumulator gets."""
    for scale in (Scale(), Scale(-3, 0.5, 7)):
        test_designs.test_update_best_by_the_status(scale)


def check_hooks() -> None:
    """Asserts that the hooks of a side give its scores."""
    test_designs.test_the_hooks_of_a_side()


def check_infinite_worst() -> None:
    """Asserts that the worst score does not keep a side from playing."""
    test_designs.test_a_move_is_played_even_if_all_are_worst()


def check_seats() -> None:
    """Asserts that either seat may be MAX."""
    test_variants.test_either_seat_may_be_max()
    test_variants.test_a_seat_that_is_not_to_move()


def check_average_player() -> None:
    """Asserts that average min-max maximises at the plies of the chosen player."""
    test_variants.test_the_average_of_a_chosen_player()


def check_quiet() -> None:
    """Asserts that the cut-off rule `quiet` sees a recapture."""
    test_variants.test_the_rule_quiet_sees_the_recapture()


def check_meanings() -> None:
    """Asserts that a value's words are right."""
    for example in test_variants.MEANINGS:
        test_variants.test_what_a_value_means(*example)


def check_log() -> None:
    """Asserts that the classic log is the printed one."""
    test_founding_numbers.test_row_2_the_log()


def check_other_logs() -> None:
    """Asserts that other searches have a classic log, too."""
    test_variants.test_the_classic_log_of_other_searches()


def check_match() -> None:
    """Asserts that the classic match is the printed one."""
    test_founding_numbers.test_row_2_the_match()


def check_bounds() -> None:
    """Asserts that the bounds narrow as printed."""
    test_founding_numbers.test_row_5_greedy_friends()


def check_columns() -> None:
    """Asserts that a comparison shows the differences."""
    test_variants.test_two_columns()


def check_infinite() -> None:
    """Asserts that infinite utilities are searched and written."""
    test_variants.test_infinite_utilities()


#: Name, check, module, source text, faulty text.
ERRORS: list[tuple[str, Check, ModuleType, str, str]] = [
    ("fail-soft cuts too late", FAIL_SOFT, variants, "return alpha >= beta", "return alpha > beta"),
    ("fail-hard is soft", FAIL_HARD, variants, "Windowed(result=own_bound)", "Windowed()"),
    (
        "fail-hard returns the other bound",
        FAIL_HARD,
        variants,
        'return alpha if kind == "max" else beta',
        'return beta if kind == "max" else alpha',
    ),
    ("strict cuts at equality", STRICT, variants, "return alpha > beta", "return alpha >= beta"),
    (
        "one bound is handed further down",
        ONE_BOUND,
        variants,
        "best = combine(state.kind, values) if values else None",
        "best = combine(state.kind, values) if values else bound",
    ),
    (
        "one bound not for MAX",
        ONE_BOUND,
        variants,
        'return value > bound if kind == "max" else value < bound',
        'return value < bound if kind == "min" else False',
    ),
    (
        "one bound cuts at equality",
        ONE_BOUND,
        variants,
        "OneBound(first_test=2)",
        "OneBound(first_test=2, is_strict=False)",
    ),
    (
        "one bound tests the first child",
        ONE_BOUND,
        variants,
        "OneBound(first_test=2)",
        "OneBound()",
    ),
    (
        "the parent's bound must be passed",
        PARENT_BOUND,
        variants,
        "OneBound(is_strict=False)",
        "OneBound()",
    ),
    (
        "an open bound is a bound",
        PARENT_BOUND,
        variants,
        "if bound is None or count",
        "bound = (INF if kind == 'max' else -INF) if bound is None else bound\n        if count",
    ),
    ("MIN of the pair keeps its beta", PAIR, pair, "beta = min(beta, best)", "beta = beta"),
    ("the pair never cuts", PAIR, pair, "if search.prunes:", "if False:"),
    (
        "the pair calls itself",
        PAIR,
        pair,
        '    "min": min_value,',
        '    "min": max_value,',
    ),
    (
        "the pair's last of equals",
        test_designs.test_all_agree_on_trees,
        pair,
        "count == 1 or value > best",
        "count == 1 or value >= best",
    ),
    ("the pair resigns", check_infinite_worst, pair, "count == 1 or value", "value"),
    (
        "an accumulator of the worst",
        ACCUMULATORS,
        mapping,
        "return value > other",
        "return value < other",
    ),
    (
        "an accumulator forgets its move",
        test_designs.test_an_accumulator_keeps_the_move,
        mapping,
        "self.move, self.value = move, value",
        "self.move, self.value = self.move or move, value",
    ),
    (
        "an accumulator never has enough",
        ACCUMULATORS,
        board,
        "if accumulator.has_enough:",
        "if False:",
    ),
    (
        "an opposite without a window",
        ACCUMULATORS,
        mapping,
        "        return side(self.sides, *window)",
        "        return side(self.sides)",
    ),
    ("the map does not take back", check_take_back, board, "            self.take_back()\n", ""),
    (
        "the map skips a move too many",
        check_take_back,
        board,
        "return moves[count:]",
        "return moves[count + 1 :]",
    ),
    (
        "a draw is lost",
        check_update_best,
        mapping,
        "self.update_best(self.score(Status.DRAWN))",
        "self.update_best(self.score(Status.LOST))",
    ),
    (
        "design 2 is fail-soft",
        text_check("fail-hard, nodes (000)"),
        polymorphic,
        "        return self.beta\n",
        "        return self.score\n",
    ),
    (
        "won for lost",
        check_status_visitor,
        board,
        "case Status.WON:",
        "case Status.LOST if True:",
    ),
    (
        "the hook of MIN",
        check_hooks,
        polymorphic,
        "mover_status(state).reversed",
        "mover_status(state)",
    ),
    ("the worst score", check_hooks, polymorphic, "worst_score = -INF", "worst_score = 0"),
    ("a node resigns", check_infinite_worst, polymorphic, "if self.count > 1 and not", "if not"),
    (
        "the opposite of MIN",
        NODES,
        polymorphic,
        "        return MaxNode\n",
        "        return MinNode\n",
    ),
    ("greedy looks further", GREEDY, explain, "replace(plan, depth=1)", "replace(plan, depth=2)"),
    (
        "the opponent does not help",
        OPTIMISTIC,
        flat,
        'kind = "mean" if state.kind == "mean" else "max"',
        "kind = state.kind",
    ),
    ("optimism without a goal", OPTIMISTIC, flat, "if best >= study.goal:", "if False:"),
    (
        "random is the first move",
        test_trace.test_random_moves,
        flat,
        'moves[hashed_index(f"{seed}:{state.text()}", len(moves))]',
        "moves[0]",
    ),
    (
        "random values out of range",
        test_worked_examples.test_2_the_random_evaluator,
        evaluators,
        "return low + hashed_index(",
        "return 2 * hashed_index(",
    ),
    (
        "everyone helps the player",
        FIRST_PLAYER,
        players,
        'return "max" if player_of(kind) == self.player else "min"',
        'return "max"',
    ),
    (
        "the utility of player 1",
        THIRD_PLAYER,
        players,
        "value[self.player - 1]",
        "value[0]",
    ),
    (
        "MIN's utility is MAX's",
        check_seats,
        players,
        "return value if self.player == 1 else -value",
        "return value",
    ),
    ("the seat to move is MAX", check_seats, players, "max_seat=player - 1", "max_seat=0"),
    (
        "the average of the root's side",
        check_average_player,
        explain,
        'ours = "max" if plan.player else root.kind',
        "ours = root.kind",
    ),
    ("fresh at every node", FRESH, study, "len(self._open) == 1", "len(self._open) > 0"),
    ("fresh windows forgotten", FRESH, study, "self.fresh and", "False and"),
    ("quiet ignores captures", check_quiet, cutoffs, "and not has_capture(state)", ""),
    (
        "own pieces count as captured",
        check_quiet,
        cutoffs,
        'pieces[kind == "max"]',
        'pieces[kind != "max"]',
    ),
    (
        "an estimate is a draw",
        check_meanings,
        meaning,
        "case Status.DRAWN if not study.stopped:",
        "case _ if True:",
    ),
    (
        "won is lost",
        check_meanings,
        meaning,
        "case Status.LOST:\n            return",
        "case Status.WON | Status.DRAWN:\n            return",
    ),
    (
        "A for B",
        check_log,
        classic,
        "_end_text(window[1], GREATEST)",
        "_end_text(window[0], GREATEST)",
    ),
    (
        "a line too much",
        check_log,
        classic,
        'elif what == "leave" and row:',
        'elif what == "leave":',
    ),
    (
        "the side of a leaf",
        check_log,
        classic,
        'nodes.kind[row] if nodes.kind[row] != "leaf" else nodes.turn[row]',
        "nodes.turn[0]",
    ),
    (
        "negamax's signs",
        check_other_logs,
        classic,
        "return value * trace.nodes.sign[row]",
        "return value",
    ),
    ("no boast", check_match, classic, "if trace.meaning == GUARANTEED_WIN:", "if False:"),
    (
        "the wrong winner",
        check_match,
        classic,
        "person if outcome.winner == seat else program",
        "program if outcome.winner == seat else person",
    ),
    (
        "bounds that widen",
        test_variants.test_bounds_meet,
        text,
        "return max(lows",
        "return min(lows",
    ),
    ("bounds that are not empty", check_bounds, text, "and low > high", "and low < high"),
    ("differences without a mark", check_columns, compare, "cells[0] != cells[1]", "False"),
    ("skipped nodes not shown", check_columns, compare, '"skipped"', '""'),
    ("infinity is null", check_infinite, trace, "if isinstance(part, float) and", "if False and"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "module", "right", "wrong"),
    [error[1:] for error in ERRORS],
    ids=[error[0] for error in ERRORS],
)
def test_an_error_is_found(
    planted: Callable[[ModuleType, str, str], None],
    check: Check,
    module: ModuleType,
    right: str,
    wrong: str,
) -> None:
    """With one error planted into the source, the check that covers it fails."""
    planted(module, right, wrong)
    with pytest.raises(AssertionError):
        check()


@pytest.mark.long
@pytest.mark.parametrize("check", list(dict.fromkeys(error[1] for error in ERRORS)))
def test_unchanged_modules_pass(
    planted: Callable[[ModuleType, str, str], None], check: Check
) -> None:
    """Unchanged copies of the modules pass the same checks."""
    for module in {error[2] for error in ERRORS if error[1] is check}:
        planted(module, "", "")
    check()
