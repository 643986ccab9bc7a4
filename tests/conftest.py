"""What all tests share: property tests have no deadline (the machine may be busy), and repeat
exactly in CI.

With `-n 3 --dist loadfile` (`make test`) a module's tests stay together in a process, and the long
modules begin first, so that all processes end at the same time. No test watches a clock (see
test_wall_clock.py): there are more processes than cores, for many tests wait for other programs.
One folder of compiled code serves all processes of a run.
"""

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from engine.rules import overflow

TESTS = Path(__file__).parent
#: The modules that take a quarter of a minute or more, in the order in which they begin.
LONGEST = (
    "cluster/test_faults.py",
    "system/test_every_game.py",
    "engine/test_conformance.py",
    "system/test_browser.py",
    "system/test_terminal.py",
    "engine/games/test_gomoku.py",
    "engine/match/test_ladders.py",
    "engine/test_pool.py",
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

WARM_S = 600

if "PLYROOM_TEST_CACHE" not in os.environ:  # the processes of a run get it from the first one
    _CACHE = tempfile.TemporaryDirectory(prefix="plyroom-test-code-", ignore_cleanup_errors=True)
    os.environ["PLYROOM_TEST_CACHE"] = _CACHE.name

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    # A shell without job control starts background jobs deaf to Ctrl-C, and so would be all
    # programs started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(autouse=True)
def numpy_warns_of_overflow() -> Iterator[None]:
    """A command that a test calls as a function may tell numpy to be silent in this whole process:
    numpy forgets that with the test's context, and so must we.
    """
    yield
    overflow._overflow_ignored = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Beside other processes the longest modules begin first. Whoever is the first to need all
    searches has time to compile them, on a busy machine too.
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
