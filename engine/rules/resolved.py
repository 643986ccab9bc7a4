"""A rules file read once: every name of the contract with its value, defaults filled in.

The rest of the engine reads the names from here, with two exceptions: the digest reads the rules
file before the game is loaded (`engine.rules.digest`), and the compilers copy its marked functions
(`engine.compiler`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from engine.jit import RULE
from engine.rules.contract import OPTIONAL, REQUIRED, Option, Rules, State
from engine.rules.errors import GameFault
from engine.view import BoardView, MoveView, PositionView

#: Names that a rules file of an earlier version may define, and their names now.
RENAMED = {
    "tense": "unstable", "noisy": "tactical", "forced": "evasions", "stuck": "no_moves_result",
    "WITHOUT": "DISABLED", "PATIENCE_MS": "TOP_LEVEL_TIME_MS",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedRules:
    """The names of a rules file as `Rules` and `OptionalRules` describe them.

    A constant that the file does not define has its default here. An optional function that it does
    not define is None: the default in the docstring of `OptionalRules` applies.
    """

    NAME: str
    TITLE: str
    WORDS: int
    MAX_MOVES: int
    LEVELS: int
    OPTIONS: Mapping[str, Option]
    DATA: tuple[str, ...]
    RULES: str
    init: Callable[[Mapping[str, str]], State]
    status: Callable[[State], int]
    moves: Callable[[State, Any], int]
    play: Callable[[State, int], State]
    no_moves_result: Callable[[State], int]
    key: Callable[[State], np.uint64]
    evaluate: Callable[[State, Any], int]
    turn: Callable[[State], int]
    parse_move: Callable[[State, str], int]
    format_move: Callable[[State, int], str]
    parse_position: Callable[[str, Mapping[str, str]], State]
    format_position: Callable[[State], str]
    ending: Callable[[State], str]
    board: Callable[[Mapping[str, str]], BoardView]
    view: Callable[[State, tuple[State, int] | None], PositionView]
    move_view: Callable[[State, int], MoveView]

    PARTS: tuple[ModuleType, ...] = ()
    REPETITION: int = 0
    LEVEL_TABLE: tuple[tuple[int, int, int], ...] = ()
    CLAIM_REPETITION: int = 0
    MARGIN: int = 0
    TOP_LEVEL_TIME_MS: int = 1000
    SOLVER: str = ""
    SOLVER_NODES: int = 0
    POINTS_UNIT: str = "points"
    NUMBERING: str = "move"
    DISABLED: tuple[str, ...] = ()
    EXTRA_TURNS: bool = False
    SEARCH: str = "production"
    CAN_BE_DRAWN: bool = True
    ALIASES: tuple[str, ...] = ()
    GOAL: str = ""
    drawn: Callable[[State], int] | None = None
    repetition: Callable[[State], np.uint64] | None = None
    reversible: Callable[[State], int] | None = None
    count: Callable[[State, Any], int] | None = None
    tactical: Callable[[State, Any], int] | None = None
    unstable: Callable[[State], int] | None = None
    evasions: Callable[[State, Any], int] | None = None
    rank: Callable[[State, int], int] | None = None
    may_pass: Callable[[State], int] | None = None
    pass_turn: Callable[[State], State] | None = None
    probe: Callable[[State, Any], int] | None = None
    claim: Callable[[State], str | None] | None = None
    points: Callable[[State], tuple[int, int] | None] | None = None
    maximizer: Callable[[State], int] | None = None
    notation: Callable[[State, int], str] | None = None
    can_be_drawn: Callable[[Mapping[str, str]], bool] | None = None
    can_win: Callable[[State, int], bool] | None = None

    #: Whether the occurrences of a position decide anything: REPETITION or CLAIM_REPETITION is set.
    counts_repetitions: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        counts = self.REPETITION != 0 or self.CLAIM_REPETITION != 0
        object.__setattr__(self, "counts_repetitions", counts)


#: The value of each optional name that a rules file does not define.
DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {field.name: field.default for field in fields(ResolvedRules) if field.name in OPTIONAL}
)

#: The conversions that make constants immutable and give numbers their type.
_CONVERSIONS: Mapping[str, Callable[[Any], object]] = MappingProxyType(
    {
        "OPTIONS": lambda options: MappingProxyType(dict(options)),
        "DATA": tuple,
        "PARTS": tuple,
        "REPETITION": int,
        "LEVEL_TABLE": lambda rows: tuple(tuple(row) for row in rows),
        "CLAIM_REPETITION": int,
        "MARGIN": int,
        "TOP_LEVEL_TIME_MS": int,
        "SOLVER": str,
        "SOLVER_NODES": int,
        "POINTS_UNIT": str,
        "DISABLED": tuple,
        "EXTRA_TURNS": bool,
        "SEARCH": str,
        "CAN_BE_DRAWN": bool,
        "ALIASES": tuple,
        "GOAL": str,
    }
)


def resolve_rules(rules: Rules) -> ResolvedRules:
    """The names of a rules file with their values.

    Raises GameFault when a required name is missing, when the file uses a name of an earlier
    version, or when its declarations contradict each other.
    """
    file = getattr(rules, "__file__", rules)
    if old := _old_names(rules):
        names = ", ".join(f"{name} is called {RENAMED[name]} now" for name in old)
        raise GameFault(f"the rules file {file} has names of an earlier version: {names}")
    missing = [name for name in REQUIRED if not hasattr(rules, name)]
    if missing:
        raise GameFault(f"the rules file {file} does not define {', '.join(missing)}")
    values: dict[str, Any] = {name: getattr(rules, name) for name in REQUIRED}
    values.update({name: getattr(rules, name, DEFAULTS[name]) for name in OPTIONAL})
    values.update({name: convert(values[name]) for name, convert in _CONVERSIONS.items()})
    resolved = ResolvedRules(**values)
    _check_declarations(resolved, file)
    return resolved


def _check_declarations(rules: ResolvedRules, file: object) -> None:
    """Raises GameFault when the optional names of a file do not fit together."""
    if rules.SEARCH not in ("production", "teach"):
        raise GameFault(
            f"the rules file {file} has SEARCH {rules.SEARCH!r}, not 'production' or 'teach'"
        )
    if rules.SEARCH == "teach" and rules.LEVELS != 0:
        raise GameFault(f"the rules file {file} has SEARCH 'teach', so its LEVELS is 0")
    if rules.LEVEL_TABLE and len(rules.LEVEL_TABLE) != rules.LEVELS - 1:
        raise GameFault(
            f"the rules file {file} has {rules.LEVELS} LEVELS, so LEVEL_TABLE needs one row less"
        )
    if rules.NUMBERING not in ("move", "ply"):
        raise GameFault(
            f"the rules file {file} has NUMBERING {rules.NUMBERING!r}, not 'move' or 'ply'"
        )
    if rules.EXTRA_TURNS and rules.NUMBERING != "ply":
        raise GameFault(f"the rules file {file} has EXTRA_TURNS, so its NUMBERING is 'ply'")
    if rules.EXTRA_TURNS and rules.SEARCH != "teach" and not hasattr(rules.turn, RULE):
        raise GameFault(f"the rules file {file} has EXTRA_TURNS, so its turn needs @rule")
    if not rules.CAN_BE_DRAWN and (draws := _draws(rules)):
        raise GameFault(
            f"the rules file {file} has CAN_BE_DRAWN = False, but defines {', '.join(draws)}"
        )
    hooks = {"repetition": rules.repetition, "reversible": rules.reversible}
    lacking = [name for name, hook in hooks.items() if hook is None]
    if rules.counts_repetitions and lacking:
        raise GameFault(
            f"the rules file {file} counts repetitions but does not define {', '.join(lacking)}"
        )


def _draws(rules: ResolvedRules) -> list[str]:
    """The names of a file by which a match can end in a draw."""
    numbers = {"REPETITION": rules.REPETITION, "CLAIM_REPETITION": rules.CLAIM_REPETITION}
    hooks = {"drawn": rules.drawn, "claim": rules.claim}
    return [name for name, value in {**numbers, **hooks}.items() if value]


def _old_names(rules: object) -> list[str]:
    """The names of an earlier version that a rules file defines, other than its own unmarked
    functions.
    """
    found = [name for name in RENAMED if hasattr(rules, name)]
    return [name for name in found if name.isupper() or hasattr(getattr(rules, name), RULE)]
