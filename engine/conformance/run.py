"""Runs the checks of a game in a separate process: a rule that hangs or crashes fails its check and
no other.

Three things end a check that does not return. A rule that takes RULE_S of processor time in one
call is interrupted and named. A check that takes CHECK_S altogether, in code that cannot be
interrupted, is ended with its process, and the running rule is read from the traceback. A process
that dies fails its check. The remaining checks run in another process.
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
from engine.rules.parts import files_of
from engine.rules.registry import load_game

Check = Callable[[Game], None]
#: Processor time that one call of a rule may take, in seconds: 400 times the budget of a move list
#: and a view.
RULE_S = 2
#: Processor time from one look at the running rule to the next, in seconds.
TICK_S = 0.5
#: The time that one check may take, in seconds, compilation included. Rules that hang are found
#: long before.
CHECK_S = 900
#: A line of a traceback by faulthandler.
FRAME = re.compile(r'File "(.+)", line (\d+) in (\w+)')


class RuleHangs(BaseException):
    """One call of a rule takes too long. Not an Exception, so that no rule or check catches it."""


class Ticker:
    """Checks every TICK_S of processor time which rule is running, and interrupts one that runs too
    long.
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
        if call is not None and self._ticks * TICK_S >= RULE_S:
            self._call = None
            state = tuple(map(int, call.f_locals.get("s", ())))
            where = _place(call.f_code.co_filename, call.f_lineno, call.f_code.co_name)
            raise RuleHangs(
                f"{where} does not return: "
                f"{RULE_S} s of processor time in one call, with state {state}"
            )

    @contextmanager
    def running(self) -> Iterator[None]:
        before = signal.signal(signal.SIGPROF, self.tick)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def game_files(game: Game) -> set[str]:
    module: Any = game.module
    return {str(file.__file__) for file in files_of(module)}


def verdict(game: Game, check: Check) -> str | None:
    """The line that a check reports, or None if it passes; errors of the rules come with their
    place.
    """
    try:
        check(game)
    except (ConformanceError, GameError, RuleHangs) as error:
        return str(error)
    except Exception as error:
        return defect(game, error.__cause__ or error)
    return None


def defect(game: Game, error: BaseException) -> str:
    """A line for an error that the rules should not raise: place, error, and the cure if known."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in walk_tb(error.__traceback__)
    ]
    files = game_files(game)
    inside = [frame for frame in frames if frame[0] in files]
    where = (
        _place(*inside[-1])
        if inside
        else f"the check, in {_place(*frames[-1])}"
        if frames
        else "the check"
    )
    rules = game.rules
    sizes = f"buf has MAX_MOVES = {rules.MAX_MOVES} places, a state WORDS = {rules.WORDS} words"
    cure = (
        f"; {sizes}: correct what is too small, or write less"
        if isinstance(error, IndexError)
        else ""
    )
    return f"{where} raised {type(error).__name__}: {error}{cure}"


def _place(file: str, line: int, name: str) -> str:
    return f"{name} ({Path(file).name}:{line})"


def run_checks(
    game_id: str, checks: Mapping[str, Check], check_s: float = CHECK_S
) -> Iterator[tuple[str, str | None]]:
    """Yields the name of each check with its fault, None if it passes, as soon as it is known."""
    left = list(checks.items())
    context = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        while left:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=work, args=(game_id, left, check_s, str(trace), theirs), daemon=True
            )
            process.start()
            theirs.close()
            try:
                while True:
                    fault: str | None = ours.recv()
                    yield left.pop(0)[0], fault
            except EOFError:
                process.join()
            finally:
                process.kill()
                process.join()
                ours.close()
            if left:
                yield (
                    left.pop(0)[0],
                    _ended(load_game(game_id), process.exitcode or 0, trace, check_s),
                )


def work(
    game_id: str, checks: list[tuple[str, Check]], check_s: float, trace: str, faults: Connection
) -> None:
    """Runs the checks in the process; sends the fault or None of each check that returns."""
    # The parent is interrupted as well, and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    game = load_game(game_id)
    with open(trace, "wb") as file, Ticker(game).running():
        for _, check in checks:
            faulthandler.dump_traceback_later(check_s, exit=True, file=file)
            found = verdict(game, check)
            faulthandler.cancel_dump_traceback_later()
            faults.send(found)


def _ended(game: Game, code: int, trace: Path, check_s: float) -> str:
    """The reason why a process ended within a check."""
    if code < 0:
        name = signal.Signals(-code).name
        return (
            f"its process died of {name}: "
            "compiled code has no bounds checks, so look for an overrun of buf or data"
        )
    frames = [
        (file, int(line), name)
        for file, line, name in FRAME.findall(trace.read_text("utf-8", "replace"))
    ]
    if not frames:
        return (
            f"its process ended by itself, with code {code}: "
            "rules are pure functions, they end no process"
        )
    files = game_files(game)
    inside = [frame for frame in frames if frame[0] in files]
    # The innermost function comes first; the engine called the outermost function of the game.
    where = _place(*inside[-1]) if inside else f"compiled code, called by {_place(*frames[0])},"
    return f"{where} does not return: the check was ended after {check_s:g} s"
