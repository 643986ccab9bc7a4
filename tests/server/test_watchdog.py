"""The watchdog names the game that blocks the event loop, and ends a rule that never returns."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace
from typing import Any, cast

import pytest
import structlog
import uvloop

from engine.game import REQUIRED, Game, Rules
from engine.games import tic_tac_toe
from engine.rules.call import RulesCall, open_calls, refused_games
from engine.rules.errors import GameHung, RuleInterrupted
from server.process import watchdog
from server.process.watchdog import RuleInterrupter

BLOCKING_RULES = """
NAME = "sleepy"
RULES = "wait"
MAX_MOVES = 1


def status(entered, wake):
    entered.set()
    wake.wait(20)
"""


async def test_a_game_that_blocks_the_loop_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocked loop is reported once, with the game whose rules it is in."""
    reported = threading.Event()
    lines: list[dict[str, Any]] = []

    def error(event: str, **fields: Any) -> None:
        lines.append({"event": event, **fields})
        reported.set()

    monkeypatch.setattr(watchdog, "log", SimpleNamespace(error=error))
    rules: dict[str, Any] = {}
    exec(compile(BLOCKING_RULES, "sleepy.py", "exec"), rules)
    with watchdog.watch_loop(limit_s=0.05):
        # Blocks this loop until the watchdog reports it.
        rules["status"](threading.Event(), reported)
    assert [(line["event"], line["game"]) for line in lines] == [("event loop blocked", "sleepy")]


async def test_a_loop_that_only_waits_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that only waits is not reported, for any length of time."""
    beat_s, now_s = 0.01, [0.0]
    monkeypatch.setattr(watchdog, "HEARTBEAT_S", beat_s)
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    with structlog.testing.capture_logs() as lines, watchdog.watch_loop(limit_s=5 * beat_s):
        for _ in range(30):
            await asyncio.sleep(beat_s)
            now_s[0] += beat_s
    assert lines == []


# --- rules that never return


def loop_for_ever() -> None:
    while True:
        pass


def loop_and_catch_exceptions() -> None:
    while True:
        try:
            loop_for_ever()
        except Exception:
            continue


def loop_and_catch_all() -> None:
    """It also catches the interruption, unless that is raised outside the `try`."""
    while True:
        try:
            pass
        except BaseException:
            continue


def loop_in_finally() -> None:
    try:
        loop_for_ever()
    finally:
        loop_for_ever()


def turn_the_interruption_into_an_error() -> None:
    try:
        loop_for_ever()
    except BaseException:
        raise ValueError("not a position") from None


def sleep_for_ever() -> None:
    time.sleep(1e6)


def loop_in_a_function_that_c_calls() -> None:
    def key(number: int) -> int:
        loop_for_ever()
        return number

    sorted(range(2), key=key)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks of the loop follow each other quickly."""
    monkeypatch.setattr(watchdog, "HEARTBEAT_S", 0.01)


def game_with(**hooks: Callable[..., object]) -> Game:
    """Tic-tac-toe with other hooks."""
    names = {name: getattr(tic_tac_toe, name) for name in REQUIRED}
    return Game(cast(Rules, SimpleNamespace(**{**names, **hooks})), "0" * 16)


def hook_that(work: Callable[[], None]) -> Callable[..., object]:
    """A hook that does this work for any arguments."""
    return lambda *_arguments: work()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize(
    "work",
    [
        loop_for_ever,
        loop_and_catch_exceptions,
        loop_and_catch_all,
        loop_in_finally,
        turn_the_interruption_into_an_error,
        sleep_for_ever,
        loop_in_a_function_that_c_calls,
    ],
)
@pytest.mark.usefixtures("often")
def test_a_rule_that_never_returns_is_ended(
    new_loop: Callable[[], asyncio.AbstractEventLoop], work: Callable[[], None]
) -> None:
    """Its call raises GameHung, its game is refused and reported, and the loop goes on."""

    async def main() -> None:
        refused: asyncio.Queue[str] = asyncio.Queue()
        with (
            structlog.testing.capture_logs() as lines,
            watchdog.watch_loop(0.01, 3, refused.put_nowait),
        ):
            game = game_with(parse_position=hook_that(work))
            with pytest.raises(GameHung, match="tic-tac-toe cannot be played until"):
                game.position("any text")
            assert await refused.get() == "tic-tac-toe"
            with pytest.raises(GameHung):
                game.start()
        events = {line["event"]: line for line in lines}
        assert events["event loop blocked"]["game"] == "tic-tac-toe"
        assert events["game refused"]["game"] == "tic-tac-toe"
        assert open_calls == {}

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())


@pytest.mark.usefixtures("often")
async def test_only_rules_are_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is blocked outside rules, or by many calls that return, is not interrupted."""
    pokes = 0
    poke = RuleInterrupter.poke

    def count(self: RuleInterrupter, signal: int, frame: FrameType | None) -> None:
        nonlocal pokes
        pokes += 1
        poke(self, signal, frame)

    monkeypatch.setattr(RuleInterrupter, "poke", count)
    game = game_with()
    with watchdog.watch_loop(0.01, hung_pokes=3):
        while pokes < 10:
            pass
        while pokes < 20:
            game.start().moves()
    assert refused_games == {}


class EveryInstruction:
    """Pokes an interrupter, which is ready to interrupt, before one instruction of a thread: a
    signal is handled nowhere else.
    """

    def __init__(self, number: int, call: RulesCall) -> None:
        self._left = number
        self._interrupter = RuleInterrupter(hung_pokes=1)
        self._call = call

    def __call__(self, frame: FrameType, event: str, _argument: object) -> "EveryInstruction":
        frame.f_trace_opcodes = True
        if event == "opcode":
            self._left -= 1
            if self._left == 0:
                self._interrupter.poke(0, frame)
        return self

    @property
    def has_poked(self) -> bool:
        return self._left <= 0


@pytest.fixture
def untraced() -> Iterator[None]:
    """Restores the trace function of the thread."""
    before = sys.gettrace()
    yield
    sys.settrace(before)


@pytest.mark.usefixtures("untraced")
def test_an_interruption_never_leaves_the_call_of_the_rule() -> None:
    """Poked before any instruction of a call, of its rule or of what surrounds them, the call
    returns or raises GameHung; RuleInterrupted comes out of none.
    """
    call = RulesCall("tic-tac-toe", "moves")

    def rule() -> int:
        with RulesCall("another", "moves"):
            return sum(number for number in range(2))

    def call_rule() -> str:
        with call:
            rule()
            rule()
        return "returned"

    outcomes = []
    for number in range(1, 100_000):
        tracer = EveryInstruction(number, call)
        refused_games.clear()
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            outcomes.append(call_rule())
        except GameHung:
            outcomes.append("hung")
        finally:
            sys.settrace(before)
        assert (outcomes[-1] == "hung") == ("tic-tac-toe" in refused_games)
        open_calls.clear()
        if not tracer.has_poked:
            break
    assert set(outcomes) == {"returned", "hung"}
    assert outcomes[0] == outcomes[-1] == "returned"


def test_an_interruption_waits_for_the_end_of_a_finalizer() -> None:
    """A finalizer that happens to run inside a rule would swallow the exception."""
    interrupter = RuleInterrupter(hung_pokes=1)

    class Finalized:
        def __del__(self) -> None:
            interrupter.poke(0, sys._getframe())

    def rule() -> None:
        Finalized()
        assert refused_games == {}
        interrupter.poke(0, sys._getframe())

    with pytest.raises(GameHung), RulesCall("tic-tac-toe", "moves"):
        rule()


def test_only_a_call_that_lasts_is_interrupted() -> None:
    """Pokes count for one call: those that found another call, or none, begin anew."""
    interrupter = RuleInterrupter(hung_pokes=3)

    def poke(times: int) -> None:
        for _ in range(times):
            interrupter.poke(0, sys._getframe())

    for _ in range(3):
        with RulesCall("tic-tac-toe", "moves"):
            poke(2)
        poke(1)
    assert interrupter.take_interruptions() == []
    with pytest.raises(RuleInterrupted):
        with_call_kept_open(lambda: poke(3))
    assert [game for game, _ in interrupter.take_interruptions()] == ["tic-tac-toe"]
    assert interrupter.take_interruptions() == []


def with_call_kept_open(work: Callable[[], None]) -> None:
    """Does the work inside a call that lets every exception pass."""
    call = RulesCall("tic-tac-toe", "moves")
    open_calls[sys._getframe()] = call
    try:
        work()
    finally:
        del open_calls[sys._getframe()]
