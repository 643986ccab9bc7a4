"""The choices for a search: algorithms, forms, orders, evaluators and games, and which conflict.

An entry has `name` and `text`, an algorithm also a `title`. `refuses` maps a field of a request to
the values that conflict with the entry, each with the reason; the value "*" stands for all but the
default.
"""

from collections.abc import Mapping
from typing import Any

from engine.game import Game
from engine.rules.registry import game_ids, load_game
from engine.teach.algorithms.explain import ALGORITHMS, FORMS, IN_FORM, TITLES, Plan
from engine.teach.algorithms.study import MAX_PLY
from engine.teach.requests.request import TEXT_BYTES
from engine.teach.requests.task import GAME_DEPTH
from engine.teach.states.state import GameState, Scale
from engine.teach.trace import MAX_PLAYERS, MAX_TRACE_NODES, WINDOWED

#: The description of each move order, by its name.
ORDER_TEXTS = {
    "game": "the order of the rules",
    "reversed": "the order of the rules, reversed",
    "best": "the best move first, by a search that is one ply shallower",
    "worst": "the worst move first, by the same search",
    "given": "the named moves first: given:e2e4,d2d4",
}
#: The description of each cut-off rule, by its name.
CUT_OFF_TEXTS = {
    "depth": "stops when no plies are left",
    "quiet": "the same, but not before a capture; at most four plies further",
    "never": "stops at the end of the game only",
}
#: The description of each evaluator, by its name.
EVALUATOR_TEXTS = {
    "estimate": "the game's own evaluation, or the estimate at the node",
    "zero": "always 0",
    "random": "a number that depends on the state and the seed",
    "material": "own pieces minus the opponent's, with weights: material:queen=9,rook=5",
    "all-paths": "1 if every way to play on is won, -1 if every one is lost, else 0",
}
#: Instructive pairs of searches: a title, the fields of the first one, and those in which the
#: second one differs.
PAIRS = (
    ("Alpha-beta and minimax", {"algorithm": "alphabeta"}, {"algorithm": "minimax"}),
    ("Best order and worst", {"algorithm": "alphabeta", "order": "best"}, {"order": "worst"}),
    ("Fail-hard and fail-soft", {"algorithm": "fail-hard"}, {"algorithm": "fail-soft"}),
    (
        "One bound, tested late and early",
        {"algorithm": "one-bound"},
        {"algorithm": "one-bound-early"},
    ),
    ("Average and minimax", {"algorithm": "average"}, {"algorithm": "minimax"}),
)
#: The fields of a request that have the defaults of a plan.
DEFAULTS = ("algorithm", "form", "order", "evaluator", "cut_off", "player", "seed", "fresh")
#: Why an algorithm without a window has no fresh ones.
NO_WINDOW = "only alpha-beta and its variants have a window"

Entry = dict[str, Any]
Refusals = Mapping[str, Mapping[str, str]]


def list_choices(max_nodes: int, seconds: float) -> Entry:
    """Returns all choices, for searches with these limits."""
    return {
        "algorithms": [
            {**entry(name, text, algorithm_refusals(name)), "title": TITLES.get(name, name)}
            for name, text in ALGORITHMS.items()
        ],
        "forms": [entry(name, text, form_refusals(name)) for name, text in FORMS.items()],
        "orders": [
            {**entry(name, text), "moves": name == "given"} for name, text in ORDER_TEXTS.items()
        ],
        "cut_offs": [entry(name, text) for name, text in CUT_OFF_TEXTS.items()],
        "evaluators": [
            {**entry(name, text), "weights": name == "material"}
            for name, text in EVALUATOR_TEXTS.items()
        ],
        "subjects": {
            "tree": {
                **entry("tree", "a tree as text: max(A: min(3, 12), B: min(2, 4))"),
                "depth": None,
                "players": MAX_PLAYERS,
            },
            "graph": {
                **entry("graph", "states with names: a: max(b, c) b: min(1, 2) c: 3"),
                "depth": None,
                "players": MAX_PLAYERS,
            },
        },
        "games": [found for game_id in game_ids() if (found := game_entry(game_id)) is not None],
        "pairs": [
            {"title": title, "left": dict(left), "right": dict(right)}
            for title, left, right in PAIRS
        ],
        "defaults": {name: getattr(Plan(), name) for name in DEFAULTS},
        "limits": {
            "depth": MAX_PLY,
            "nodes": MAX_TRACE_NODES,
            "searched_nodes": max_nodes,
            "seconds": seconds,
            "text_bytes": TEXT_BYTES,
        },
    }


def entry(name: str, text: str, refuses: Refusals | None = None) -> Entry:
    """Returns an entry of the choices."""
    found: Entry = {"name": name, "text": text}
    return {**found, "refuses": refuses} if refuses else found


def algorithm_refusals(name: str) -> Refusals:
    """Returns the fields and values that conflict with an algorithm."""
    refuses: dict[str, Mapping[str, str]] = {}
    missing = {
        form: f"only {', '.join(allowed)} are written in this form"
        for form, allowed in IN_FORM.items()
        if name not in allowed
    }
    if missing:
        refuses["form"] = missing
    if name == "max-n":
        refuses["player"] = {"*": "max-n has a value for each player, so none is chosen"}
    if name == "greedy":
        refuses["depth"] = {"*": "greedy looks one ply ahead"}
    if name == "random":
        refuses["depth"] = {"*": "a move at random needs no search"}
    if name not in WINDOWED:
        refuses["fresh"] = {"*": NO_WINDOW}
    return refuses


def form_refusals(name: str) -> Refusals:
    """Returns the fields and values that conflict with a form."""
    if name == "flat":
        return {}
    allowed = IN_FORM[name]
    reason = f"the form {name} exists only for {', '.join(allowed)}"
    return {"algorithm": {other: reason for other in ALGORITHMS if other not in allowed}}


def game_entry(game_id: str) -> Entry | None:
    """Returns the entry of a game; None if its rules fail."""
    try:
        game = load_game(game_id)
        return _game_entry(game)
    except Exception:  # the rules of another package may raise anything
        return None


def _game_entry(game: Game) -> Entry:
    kinds = sorted(GameState.at_root(game.start(), Scale()).piece_names())
    has_values = game.rules.SEARCH != "teach"
    refused = {}
    if not has_values:
        refused["estimate"] = f"{game.title} has no evaluation of its own"
    if not kinds:
        refused["material"] = f"{game.title} has no pieces that belong to a side"
    return {
        **entry(game.id, game.title, {"evaluator": refused} if refused else None),
        "id": game.id,
        "title": game.title,
        "depth": GAME_DEPTH,
        "evaluator": "estimate" if has_values else "zero",
        "kinds": kinds,
    }
