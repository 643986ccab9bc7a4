"""The checks find faults that are planted into listings, exercises, machines, logs and streams."""

from collections.abc import Callable
from types import ModuleType

import pytest

from engine.teach.lessons import lesson, listings, questions, quiz
from engine.teach.output import machine, notation, stream, svg
from tests.engine.teach import (
    test_drawings,
    test_listings,
    test_questions,
    test_stream,
)

#: A check, which raises AssertionError if it finds a fault.
Check = Callable[[], None]


def check_machines() -> None:
    """Asserts that the states and labels of the named machines are laid out clearly."""
    for name in test_drawings.MACHINES:
        test_drawings.test_a_state_machine_is_laid_out(name)


def check_stated() -> None:
    """Asserts that each listing gives what the contract states."""
    for name in test_listings.STATED:
        test_listings.test_a_listing_gives_what_the_contract_states(name)


def check_oracle() -> None:
    """Asserts that the listings are those of the transcription."""
    test_listings.test_the_listings_are_those_of_the_oracle(60)


def check_statements() -> None:
    """Asserts that statements come with whether they are true."""
    test_questions.test_statements_as_data("opaque-moves")


#: Name, check, module, source text, faulty text.
FAULTS: list[tuple[str, Check, ModuleType, str, str]] = [
    (
        "labels that collide",
        check_machines,
        machine,
        "if not any(overlaps(box, other) for other in boxes)",
        "if True",
    ),
    ("an arrowhead at the start", check_machines, machine, 'return f"M{to_x', 'return f"M{x'),
    ("no arrowheads in the picture", check_machines, svg, 'd="{arrow.head}"', 'd=""'),
    (
        "a subtree of another node",
        test_stream.test_a_skipped_subtree_comes_with_its_numbers,
        stream,
        "node.branches()[node.labels().index(label)]",
        "node.branches()[0]",
    ),
    (
        "subtrees of a large tree",
        test_stream.test_a_skipped_subtree_comes_with_its_numbers,
        stream,
        "MAX_SUBTREE_NODES = 300",
        "MAX_SUBTREE_NODES = 3_000",
    ),
    ("minimax corrected", check_stated, listings, "minimax(q, is_max)", "minimax(q, not is_max)"),
    ("a player handed on", check_stated, listings, "MINIMAX(q1, p(q1))", "MINIMAX(q1, player)"),
    (
        "sides by position",
        test_listings.test_the_other_trees_show_the_other_faults,
        listings,
        "if L % 2 == 0:  #!",
        'if p.side == "max":  #!',
    ),
    ("a strict test", check_oracle, listings, "if alpha >= beta:", "if alpha > beta:"),
    (
        "a child searched once less",
        check_stated,
        listings,
        'if H_loop(q, L - 1) < best and p.side == "min":  #!',
        'if p.side == "min" and H_loop(q, L - 1) < best:  #!',
    ),
    (
        "added lines without a mark",
        test_listings.test_the_marks_of_the_lines,
        listings,
        'if "+" in marks:',
        'if "?" in marks:',
    ),
    (
        "a wrong line accepted",
        test_listings.test_the_line_is_asked_in_a_terminal,
        quiz,
        "is_right = exercise.lines[int(line) - 1].is_fault",
        "is_right = not exercise.lines[int(line) - 1].is_fault",
    ),
    (
        "true for false",
        check_statements,
        questions,
        "StatementBody(each.text, each.is_true, each.reason)",
        "StatementBody(each.text, not each.is_true, each.reason)",
    ),
    (
        "added parts unseen",
        test_listings.test_the_marks_of_the_lines,
        lesson,
        'f"«{text}»" if is_added',
        "text if True",
    ),
    (
        "a cut by infinity",
        test_drawings.test_a_cut_that_nothing_can_beat,
        notation,
        "if beta is None:",
        "if False:",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "module", "right", "wrong"),
    [fault[1:] for fault in FAULTS],
    ids=[each[0] for each in FAULTS],
)
def test_a_fault_is_found(
    planted: Callable[[ModuleType, str, str], None],
    check: Check,
    module: ModuleType,
    right: str,
    wrong: str,
) -> None:
    """With one fault planted into the source, the check that covers it fails."""
    planted(module, right, wrong)
    with pytest.raises(AssertionError):
        check()


@pytest.mark.long
@pytest.mark.parametrize("check", list(dict.fromkeys(fault[1] for fault in FAULTS)))
def test_unchanged_modules_pass(
    planted: Callable[[ModuleType, str, str], None], check: Check
) -> None:
    """Unchanged copies of the modules pass the same checks."""
    for module in {fault[2] for fault in FAULTS if fault[1] is check}:
        planted(module, "", "")
    check()
