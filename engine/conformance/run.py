"""Runs the checks of a game in a separate process: a rule that hangs or crashes fails its own check
only.

A call of a rule that takes MAX_CALL_S of processor time is interrupted, and the check reports the
rule. A check that takes MAX_CHECK_S, in code that cannot be interrupted, ends with its process; the
traceback of the process names the running rule. A process that dies also fails its check. The
remaining checks run in a new process.
"""

import faulthandler
import multiprocessing
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_tb
from types import FrameType
from typing import Any

from engine.conformance.playouts import ConformanceError
from engine.game import Game, GameError
from engine.rules.parts import modules_of
from engine.rules.registry import load_game

#: A check of a game, which raises an error if it fails.
Check = Callable[[Game], None]
#: Maximum processor time of one call of a rule, in seconds; 400 times the budget of a move list and
#: a view.
MAX_CALL_S = 2
#: Processor time between two inspections of the running rule, in seconds.
TICK_S = 0.5
#: Maximum time of one check, in seconds, compilation included.
MAX_CHECK_S = 900
#: A frame in a traceback of faulthandler.
TRACEBACK_FRAME = re.compile(r'File "(.+)", line (\d+) in (\w+)')


class RuleTimeout(BaseException):
    """One call of a rule took too long. It is not an Exception, so `except Exception` in a rule or
    check does not catch it.
    """


class CallWatchdog:
    """Checks every TICK_S of processor time which rule is running, and interrupts a call that takes
    too long.
    """

    def __init__(self, game: Game) -> None:
        self._files = game_files(game)
        self._call: FrameType | None = None
        self._ticks = 0

    def tick(self, _signal: int, frame: FrameType | None) -> None:
        call = None
        while frame is not None:  # the outermost frame is the function that the engine called
            call = frame if frame.f_code.co_filename in self._files else call
            frame = frame.f_back
        self._ticks = self._ticks + 1 if call is not None and call is self._call else 0
        self._call = call
        if call is not None and self._ticks * TICK_S >= MAX_CALL_S:
            self._call = None
            state = tuple(map(int, call.f_locals.get("s", ())))
            place = _format_place(call.f_code.co_filename, call.f_lineno, call.f_code.co_name)
            raise RuleTimeout(
                f"{place} does not return: "
                f"{MAX_CALL_S} s of processor time in one call, with state {state}"
            )

    @contextmanager
    def install(self) -> Iterator[None]:
        previous = signal.signal(signal.SIGPROF, self.tick)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, previous)


def game_files(game: Game) -> set[str]:
    module: Any = game.module
    return {str(file.__file__) for file in modules_of(module)}


def run_check(game: Game, check: Check) -> str | None:
    """Runs a check; returns its fault as one line, or None if it passes.

    The line of an error in the rules names its function and line number.
    """
    try:
        check(game)
    except (ConformanceError, GameError, RuleTimeout) as error:
        return str(error)
    except Exception as error:
        return describe_error(game, error.__cause__ or error)
    return None


def describe_error(game: Game, error: BaseException) -> str:
    """Formats an error that the rules should not raise: its place, the error, the fix if known."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in walk_tb(error.__traceback__)
    ]
    files = game_files(game)
    rule_frames = [frame for frame in frames if frame[0] in files]
    place = (
        _format_place(*rule_frames[-1])
        if rule_frames
        else f"the check, in {_format_place(*frames[-1])}"
        if frames
        else "the check"
    )
    rules = game.rules
    sizes = f"buf has MAX_MOVES = {rules.MAX_MOVES} places, a state WORDS = {rules.WORDS} words"
    fix = (
        f"; {sizes}: correct the one that is too small, or write less"
        if isinstance(error, IndexError)
        else ""
    )
    return f"{place} raised {type(error).__name__}: {error}{fix}"


def _format_place(file: str, line: int, name: str) -> str:
    return f"{name} ({Path(file).name}:{line})"


def run_checks(
    game_id: str, checks: Mapping[str, Check], check_s: float = MAX_CHECK_S
) -> Iterator[tuple[str, str | None]]:
    """Yields the name of each check with its fault, or None if it passes, when the check ends."""
    remaining = list(checks.items())
    context = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        while remaining:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(
                target=run_in_process,
                args=(game_id, remaining, check_s, str(trace), sender),
                daemon=True,
            )
            process.start()
            sender.close()
            try:
                while True:
                    fault: str | None = receiver.recv()
                    yield remaining.pop(0)[0], fault
            except EOFError:
                process.join()
            finally:
                process.kill()
                process.join()
                receiver.close()
            if remaining:
                yield (
                    remaining.pop(0)[0],
                    _exit_reason(load_game(game_id), process.exitcode or 0, trace, check_s),
                )


def run_in_process(
    game_id: str,
    checks: list[tuple[str, Check]],
    check_s: float,
    trace: str,
    connection: Connection,
) -> None:
    """Runs the checks in this process; sends the fault or None of each check that returns."""
    # An interrupt also reaches the parent, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    game = load_game(game_id)
    with open(trace, "wb") as file, CallWatchdog(game).install():
        for _, check in checks:
            faulthandler.dump_traceback_later(check_s, exit=True, file=file)
            fault = run_check(game, check)
            faulthandler.cancel_dump_traceback_later()
            connection.send(fault)


def _exit_reason(game: Game, code: int, trace: Path, check_s: float) -> str:
    """Returns the reason why a process ended during a check."""
    if code < 0:
        name = signal.Signals(-code).name
        return (
            f"its process died of {name}: "
            "compiled code has no bounds checks, so look for an overrun of buf or data"
        )
    frames = [
        (file, int(line), name)
        for file, line, name in TRACEBACK_FRAME.findall(trace.read_text("utf-8", "replace"))
    ]
    if not frames:
        return (
            f"its process ended by itself, with code {code}: "
            "rules are pure functions and must not end the process"
        )
    files = game_files(game)
    rule_frames = [frame for frame in frames if frame[0] in files]
    # The innermost function comes first; the engine called the outermost function of the game.
    place = (
        _format_place(*rule_frames[-1])
        if rule_frames
        else f"compiled code, called by {_format_place(*frames[0])},"
    )
    return f"{place} does not return: the check was ended after {check_s:g} s"
