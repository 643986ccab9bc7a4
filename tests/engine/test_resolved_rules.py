"""A resolved rules file has a fixed value for each name of the contract."""

import ast
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from engine.game import (
    OPTIONAL,
    REQUIRED,
    Game,
    GameFault,
    Option,
    OptionError,
    ResolvedRules,
    Rules,
)
from engine.games import tic_tac_toe
from engine.rules.measured import measured_of
from engine.rules.registry import BUILT_IN, best_known_first, load_game, production_ids
from engine.rules.resolved import DEFAULTS, resolve_rules

#: The folder of the engine.
ENGINE = Path(__file__).parents[2] / "engine"
#: The defaults of constants as `OptionalRules` documents them. The default of a function is None.
CONSTANTS = {
    "PARTS": (), "REPETITION": 0, "LEVEL_TABLE": (), "CLAIM_REPETITION": 0, "MARGIN": 0,
    "TOP_LEVEL_TIME_MS": 1000, "SOLVER": "", "SOLVER_NODES": 0, "POINTS_UNIT": "points",
    "NUMBERING": "move", "DISABLED": (),
    "EXTRA_TURNS": False, "SEARCH": "production", "CAN_BE_DRAWN": True, "ALIASES": (), "GOAL": "",
}  # fmt: skip
#: The modules that read a rules file before its names are resolved.
BEFORE_RESOLVING = {"rules/digest.py", "rules/parts.py", "rules/resolved.py"}


def minimal_rules(**changes: object) -> Rules:
    """Returns tic-tac-toe with its required names only, and these changes."""
    names = {name: getattr(tic_tac_toe, name) for name in REQUIRED}
    return cast(Rules, SimpleNamespace(**{**names, **changes}))


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_name_has_its_default(name: str) -> None:
    """A file with the required names only has the documented default of each optional name."""
    assert name in DEFAULTS, f"{name} has no default"
    assert getattr(resolve_rules(minimal_rules()), name) == CONSTANTS.get(name)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_name_has_no_default(name: str) -> None:
    """A file without a required name is refused, and the message gives the name."""
    rules = minimal_rules()
    delattr(rules, name)
    with pytest.raises(GameFault, match=f"does not define {name}$"):
        resolve_rules(rules)


def test_the_contract_and_resolved_rules_have_the_same_names() -> None:
    """`Rules` and `OptionalRules` name exactly what a resolved file holds, in the same order."""
    names = [field.name for field in fields(ResolvedRules) if field.init]
    assert names == [*REQUIRED, *OPTIONAL]


def test_names_of_the_file_override_defaults() -> None:
    """A resolved file has the file's own functions and constants, also optional ones."""
    rules = resolve_rules(cast(Rules, tic_tac_toe))
    for name in (*REQUIRED, *OPTIONAL):
        expected = getattr(tic_tac_toe, name, DEFAULTS.get(name))
        assert getattr(rules, name) == expected, name


@pytest.mark.parametrize("name", [*REQUIRED, *OPTIONAL, "counts_repetitions"])
def test_a_resolved_file_does_not_change(name: str) -> None:
    """No name of a resolved file can be set."""
    rules = resolve_rules(minimal_rules())
    with pytest.raises(FrozenInstanceError):
        setattr(rules, name, getattr(rules, name))


def test_resolved_rules_ignore_later_changes() -> None:
    """A list or dictionary that the file changes later does not change its resolved names."""
    options: dict[str, Any] = {}
    table = [[1, 2, 3]] * (tic_tac_toe.LEVELS - 1)
    rules = resolve_rules(minimal_rules(OPTIONS=options, LEVEL_TABLE=table))
    options["size"] = None
    table.clear()
    assert rules.OPTIONS == {}
    assert rules.LEVEL_TABLE == ((1, 2, 3),) * (tic_tac_toe.LEVELS - 1)
    with pytest.raises(TypeError):
        cast(Any, rules.OPTIONS)["size"] = None


def reads_of_optional_names(source: str) -> list[str]:
    """Returns the places where a source tests whether an object has an optional name."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value in OPTIONAL
    ]


def test_optional_names_are_read_in_one_place() -> None:
    """No module tests whether a loaded rules file defines an optional name."""
    reads_of_path = {
        path.relative_to(ENGINE).as_posix(): reads_of_optional_names(path.read_text("utf-8"))
        for path in ENGINE.rglob("*.py")
    }
    templates = ("getattr(template, 'PARTS', ())",)  # the search's own modules have PARTS as well
    assert {
        path: reads
        for path, reads in reads_of_path.items()
        if path not in BEFORE_RESOLVING and any(not read.endswith(templates) for read in reads)
    } == {}


def test_the_scan_finds_a_read_of_an_optional_name() -> None:
    """`reads_of_optional_names` finds a `hasattr` of an optional name."""
    assert reads_of_optional_names('if hasattr(game.module, "drawn"):\n    pass\n')


def failing_hook(error: Exception) -> Any:
    """Returns a hook that raises the error."""

    def hook(*_arguments: object) -> None:
        raise error

    return hook


def test_an_error_in_a_hook_names_the_hook() -> None:
    """The fault names the game, the hook and the error, and has the error as its cause."""
    error = ZeroDivisionError("a defect")
    for hook in ("status", "moves"):
        game = Game(minimal_rules(**{hook: failing_hook(error)}), "0" * 16)
        with pytest.raises(
            GameFault,
            match=f"the rules of tic-tac-toe failed in {hook}: ZeroDivisionError: a defect",
        ) as raised:
            game.start().moves()
        assert raised.value.__cause__ is error


def test_only_bad_arguments_are_the_callers_error() -> None:
    """A ValueError for the caller's options is an OptionError; one in `play` is a GameFault."""
    with pytest.raises(OptionError, match="no such size"):
        Game(minimal_rules(init=failing_hook(ValueError("no such size"))), "0" * 16).start()
    with pytest.raises(GameFault, match="failed in play: ValueError"):
        Game(minimal_rules(play=failing_hook(ValueError("a defect"))), "0" * 16).start().play(0)


def test_an_interrupt_is_not_a_fault() -> None:
    """Ctrl-C during a rule raises KeyboardInterrupt, not GameFault."""
    game = Game(minimal_rules(turn=failing_hook(cast(Exception, KeyboardInterrupt()))), "0" * 16)
    with pytest.raises(KeyboardInterrupt):
        _ = game.start().turn


def test_a_game_keeps_its_module() -> None:
    """A game has the module of its rules file, for the digest and the compiler."""
    game = Game(cast(Rules, tic_tac_toe), "0" * 16)
    assert isinstance(game.module, ModuleType)
    assert game.module is tic_tac_toe


@pytest.mark.parametrize(
    ("changes", "goal"),
    [
        ({"GOAL": "Get three in a row."}, "Get three in a row."),
        ({"RULES": "Take\nthe last 2.5 stones. Then stop."}, "Take the last 2.5 stones."),
        ({"RULES": "No end"}, "No end"),
    ],
)
def test_a_goal_is_that_of_the_file_or_the_first_sentence_of_its_rules(
    changes: dict[str, str], goal: str
) -> None:
    """A game without GOAL has the first sentence of RULES as its goal, on one line."""
    assert Game(minimal_rules(**changes), "0" * 16).goal == goal


def test_options_are_phrases() -> None:
    """A value has the phrase of the file, or else the title of its option with the value; a match
    has those of all its options that the game knows.
    """
    swap = Option("The second player may swap", "yes", ("yes", "no"), phrases={"no": "No swap"})
    size = Option("Rows", "3", ("3", "4"), free=True)
    game = Game(minimal_rules(OPTIONS={"swap": swap, "size": size}), "0" * 16)
    assert game.options_text({"swap": "no", "size": "9", "old": "x"}) == "No swap, Rows: 9"
    assert game.options_text({"swap": "yes"}) == "The second player may swap"
    assert game.options_text({}) == ""


def test_every_offered_value_of_our_games_has_a_phrase() -> None:
    """No built-in game leaves a value to the default text."""
    for game_id in BUILT_IN:
        for option in load_game(game_id).options.values():
            assert set(option.phrases) == set(option.offered), game_id


@pytest.mark.parametrize("size", ["3", "4", "5"])
def test_dots_and_boxes_can_be_drawn_on_an_even_number_of_boxes(size: str) -> None:
    """An odd number of boxes cannot be halved; a game that cannot be drawn has no say."""
    game = load_game("dots-and-boxes")
    assert game.can_be_drawn({"size": size}) is (int(size) ** 2 % 2 == 0)
    decided = minimal_rules(CAN_BE_DRAWN=False, can_be_drawn=lambda options: True)
    assert not Game(decided, "0" * 16).can_be_drawn({})


def test_the_best_known_games_come_first() -> None:
    """A node compiles them in this order when it is idle; a game that does not load comes last."""
    ids = best_known_first(["no-such-game", *reversed(production_ids())])
    assert ids[0] == "chess"
    assert set(ids[-1:]) <= {"no-such-game", *production_ids()}
    places = [measured_of(load_game(each)).well_known for each in ids if each in BUILT_IN]
    known = [place for place in places if place is not None]
    assert known == sorted(known) == places[: len(known)]
