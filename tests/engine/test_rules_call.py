"""A call into a rules file ends with a result or with a typed fault, and is open until then."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import ANY

import pytest

from engine.game import GameFault
from engine.rules.call import ParsingCall, RulesCall, open_calls, refused_games
from engine.rules.errors import GameHung, RuleInterrupted
from engine.rules.resolved import ResolvedRules

ROOT = Path(__file__).parents[2]
#: What may call a rule in the event loop of a server: its own code, the checked entry points, and
#: the evaluation of one position for a strategy's seat.
CALLERS = (
    *ROOT.glob("server/**/*.py"),
    ROOT / "engine/game.py",
    ROOT / "engine/teach/states/state.py",
)
HOOKS = {name for name, kind in ResolvedRules.__annotations__.items() if "Callable" in str(kind)}


def refuse(game_id: str, error: BaseException) -> None:
    """What a signal handler does inside a rule, and what the rule then raises."""
    refused_games[game_id] = f"{game_id} is refused"
    raise error


def test_a_call_is_open_until_its_block_ends() -> None:
    """An open call is listed by the frame of its `with` statement, also inside another call."""
    assert sys._getframe() not in open_calls

    def inner() -> None:
        with RulesCall("chess", "play") as call:
            assert open_calls == {sys._getframe(1): ANY, sys._getframe(): call}

    with RulesCall("chess", "moves") as call:
        inner()
        assert open_calls == {sys._getframe(): call}
    with pytest.raises(GameFault), RulesCall("chess", "moves"):
        raise IndexError
    assert open_calls == {}


def test_an_interrupted_rule_is_a_hung_game() -> None:
    """An interruption becomes GameHung, a GameFault, whatever the rule turns it into."""
    with pytest.raises(GameHung, match="moves did not return"), RulesCall("chess", "moves"):
        raise RuleInterrupted("moves did not return")
    for error in (RuleInterrupted("late"), ValueError("swallowed"), GameFault("of the rule")):
        call = ParsingCall("chess", "init")
        refused_games.clear()
        with pytest.raises(GameHung, match="chess is refused") as raised, call:
            refuse("chess", error)
        assert raised.value.__cause__ is error
        assert isinstance(raised.value, GameFault)


def test_a_game_that_calls_another_ones_rules_is_the_one_that_hangs() -> None:
    """An interruption inside the rules of a second game leaves the second game in use."""

    def play_second() -> None:
        with RulesCall("second", "play"):
            refuse("first", RuleInterrupted("first hangs"))

    with pytest.raises(GameHung, match="first is refused"), RulesCall("first", "moves"):
        play_second()
    with RulesCall("second", "moves"):
        pass


def test_a_refused_game_is_not_called() -> None:
    """The rules of a refused game are not entered; those of other games are."""
    refused_games["chess"] = "chess is refused"
    entered = []
    with pytest.raises(GameHung, match="chess is refused"), RulesCall("chess", "moves"):
        entered.append("chess")
    with RulesCall("hex", "moves"):
        entered.append("hex")
    assert entered == ["hex"]
    assert open_calls == {}


def test_an_interruption_of_the_process_is_not_the_rules_fault() -> None:
    """Ctrl-C propagates out of the rules of a refused game too."""
    with pytest.raises(KeyboardInterrupt), RulesCall("chess", "moves"):
        refuse("chess", KeyboardInterrupt())


def unprotected_calls(source: str) -> Iterator[str]:
    """Yields the calls of hooks that are in no `with` statement of a RulesCall."""

    def visit(node: ast.AST, is_protected: bool) -> Iterator[str]:
        if isinstance(node, ast.With):
            contexts = [ast.unparse(item.context_expr) for item in node.items]
            is_protected = is_protected or any("Call(" in context for context in contexts)
        if isinstance(node, ast.Call) and not is_protected:
            name = ast.unparse(node.func)
            if name.rpartition(".")[2] in HOOKS and name.rpartition(".")[0].endswith("rules"):
                yield f"{name}:{node.lineno}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, is_protected)

    return visit(ast.parse(source), is_protected=False)


def test_a_server_calls_rules_in_a_rules_call_only() -> None:
    """A rule that is called without one could neither be interrupted nor become a GameFault."""
    found = {
        str(path.relative_to(ROOT)): calls
        for path in CALLERS
        if "rules." in (source := path.read_text("utf-8"))
        and (calls := list(unprotected_calls(source)))
    }
    assert found == {}


def test_the_scan_finds_an_unprotected_call() -> None:
    """A hook that is only read is no call, and one inside the `with` statement is protected."""
    source = """
read = game.rules.moves
with RulesCall("chess", "moves"):
    rules.moves(state, buffer)
self.game.rules.play(state, 1)
"""
    assert list(unprotected_calls(source)) == ["self.game.rules.play:5"]
