"""The choices that a form offers agree with the searches that the engine makes."""

from dataclasses import replace
from typing import Any

import pytest

from engine.teach.algorithms.explain import ALGORITHMS, FORMS, Plan, explain
from engine.teach.errors import NotPossible
from engine.teach.requests.choices import (
    DEFAULTS,
    PAIRS,
    algorithm_refusals,
    form_refusals,
    list_choices,
)
from engine.teach.states.state import TreeState
from engine.teach.states.tree_text import parse_tree

#: A tree whose leaves have one utility each.
TREE = "max(A: min(3, 12), B: min(2, 4))"
#: A tree for two players.
TWO_PLAYERS = "p1(A: p2(<3, 1>, <1, 2>), B: p2(<2, 2>, <4, 0>))"


def is_possible(plan: Plan) -> bool:
    """Returns whether some tree can be searched in this way."""
    for text in (TREE, TWO_PLAYERS):
        try:
            explain(TreeState.at_root(parse_tree(text)), plan)
        except NotPossible:
            continue
        return True
    return False


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_form_is_refused_exactly_where_no_search_has_it(algorithm: str) -> None:
    """An algorithm refuses the forms in which no tree can be searched; a form the algorithms."""
    refused = algorithm_refusals(algorithm).get("form", {})
    for form in FORMS:
        assert (form in refused) != is_possible(Plan(algorithm, form=form, evaluator="zero"))
        assert (algorithm in form_refusals(form).get("algorithm", {})) == (form in refused)


@pytest.mark.parametrize(("title", "left", "right"), PAIRS)
def test_both_searches_of_a_pair_are_possible_and_differ(
    title: str, left: dict[str, Any], right: dict[str, Any]
) -> None:
    """A pair searches one tree in two ways."""
    plans = replace(Plan(), **left), replace(Plan(), **left | right)
    assert plans[0] != plans[1]
    assert all(map(is_possible, plans))


def test_the_defaults_are_those_of_a_plan() -> None:
    choices = list_choices(1, 1.0)
    assert replace(Plan(), **choices["defaults"]) == Plan()
    assert choices["defaults"].keys() == set(DEFAULTS)
    assert {entry["name"] for entry in choices["orders"] if entry["moves"]} == {"given"}
