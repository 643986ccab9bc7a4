"""Settings for all tests.

Property tests have no deadline (the machine may be busy), and repeat exactly in CI. With `-n 3
--dist loadfile` (`make test`) a module's tests stay in one process, and the long modules begin
first, so that all processes end at about the same time. No test depends on real time (see
test_wall_clock.py): there are more processes than cores, because many tests wait for other
programs. All processes of a run share one folder of compiled code.
"""

import os
import signal
import sys
import tempfile
import threading

# pytest imports it when it reports an exception that no caller sees; two threads that do so at once
# get a half-imported module.
import tracemalloc  # noqa: F401
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from engine.rules import overflow
from engine.rules.call import refused_games

TESTS = Path(__file__).parent
#: The modules that take 15 s or more, in the order in which they begin.
LONGEST = (
    "cluster/test_faults.py",
    "system/test_every_game.py",
    "engine/test_conformance.py",
    "system/test_browser.py",
    "system/test_terminal.py",
    "engine/games/test_gomoku.py",
    "engine/match/test_ladders.py",
    "engine/test_pool_compiling.py",
    "engine/games/test_chess.py",
    "system/test_browser_rooms.py",
    "cluster/test_cluster.py",
    "engine/match/test_ablations.py",
    "engine/games/test_draughts_tables.py",
    "system/test_stop.py",
    "system/test_kill.py",
    "engine/games/test_breakthrough.py",
    "system/test_browser_pages.py",
    "system/test_slow.py",
    "system/test_workers.py",
    "system/test_failpoints.py",
    "server/test_checker_finds_faults.py",
    "system/test_remote_workers.py",
    "system/test_resend.py",
)

#: The time limit of a test that compiles all searches, in seconds.
WARM_S = 1200

if "PLYROOM_TEST_CACHE" not in os.environ:  # the first process of a run passes it on to the others
    _CACHE = tempfile.TemporaryDirectory(prefix="plyroom-test-code-", ignore_cleanup_errors=True)
    os.environ["PLYROOM_TEST_CACHE"] = _CACHE.name

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    # A shell without job control starts background jobs with SIGINT ignored, and all programs
    # started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def every_game_may_be_played() -> Iterator[None]:
    """Forgets the games that this process refuses because one of their rules did not return."""
    yield
    refused_games.clear()


@pytest.fixture(autouse=True)
def numpy_warns_of_overflow() -> Iterator[None]:
    """Clears the flag by which a command silences numpy's overflow warnings in the whole process.

    A test may call such a command as a function. numpy's own setting ends with the test's context,
    but the flag would stay.
    """
    yield
    overflow.is_ignored = False


def pytest_collection_finish() -> None:
    """Forbids bytecode from now on: Python takes the bytecode of a file that changed within the
    same second without changing its size, as files of games in tests do. The modules of the project
    have theirs by now.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the longest modules first in parallel runs, and raises some time limits.

    The first test that needs all searches has time to compile them, even on a busy machine.
    """
    for item in items:
        if (
            "warm_engine" in getattr(item, "fixturenames", ())
            and item.get_closest_marker("timeout") is None
        ):
            item.add_marker(pytest.mark.timeout(WARM_S))
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = {module: i for i, module in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path.relative_to(TESTS).as_posix(), len(place)))
