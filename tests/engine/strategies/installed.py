"""Strategies of a temporary package, which is on the import path during a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.strategies import registry
from tests.support.documented import STRATEGIES_PAGE, install, install_files

#: Strategies that fail in every way, and some that do not.
SOURCE = '''
"""Strategies of a test."""

import json
import os
import signal
import sys
import time

from engine.strategies.contract import Choice


def token(turn, index=0):
    return turn.position.tokens()[index]


class LastMove:
    def __init__(self):
        self.count = 0

    def choose(self, turn):
        self.count += 1
        return Choice(token(turn, -1), log=f"move {self.count}", nodes=1)


def hang(turn):
    """Has a choice, and ignores that its time is over."""
    yield Choice(token(turn))
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def late(turn):
    """Has a choice, but goes on until its time is over."""
    yield Choice(token(turn), log="one", depth=1)
    yield Choice(token(turn, 1), log="two", depth=2)
    while True:
        time.sleep(60)


def slow(turn):
    """Needs more time than it has, and has no choice before."""
    while True:
        time.sleep(60)


def leak(turn):
    """Takes memory piece by piece."""
    pieces = []
    while True:
        pieces.append(bytearray(1 << 24))


def crash(turn):
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(turn):
    sys.exit("no wish to play")


def fail(turn):
    raise ZeroDivisionError("the secret of the author")


def cheat(turn):
    return Choice("z9")


def nothing(turn):
    return iter(())


def wrong(turn):
    return "a1"


def chatty(turn):
    print("a line on standard output " * 10_000, flush=True)
    os.write(1, b"bytes on standard output")
    assert sys.stdin.read() == ""
    return Choice(token(turn), log="a" * 100_000 + "\\x1b[31m")


def spy(turn):
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return Choice(token(turn), log=json.dumps([dict(os.environ), files, os.getpid()]))


def vandal(turn):
    """Changes what built-in strategies use, in its own process."""
    import engine.strategies.built_in as built_in

    built_in.STRATEGIES.clear()
    return Choice(token(turn))
'''
#: The names of these strategies; `last-move` is a class.
NAMES = (
    "hang", "late", "slow", "leak", "crash", "leave", "fail", "cheat", "nothing", "wrong",
    "chatty", "spy", "vandal",
)  # fmt: skip
ENTRIES = "\n".join(
    ['last-move = "test_strategies_package:LastMove"']
    + [f'{name} = "test_strategies_package:{name}"' for name in NAMES]
    + ['Bad_Name = "test_strategies_package:fail"', 'minimax = "test_strategies_package:fail"']
)
PROJECT = f"""
[project]
name = "test-strategies-package"
version = "1.0"

[project.entry-points."plyroom.strategies"]
{ENTRIES}
"""


def install_strategies(folder: Path) -> None:
    """Installs the strategies of this module, and that of the documentation, in a folder."""
    install_files(folder, {"test_strategies_package.py": SOURCE, "pyproject.toml": PROJECT})
    install(folder, STRATEGIES_PAGE)


@contextmanager
def installed_strategies(folder: Path) -> Iterator[None]:
    """Installs the strategies in a folder, and puts it on the import path until the block ends."""
    install_strategies(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        registry.clear()
        yield
    registry.clear()
