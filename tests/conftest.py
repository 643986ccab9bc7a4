"""What all tests share: property tests have no deadline (the machine may be busy), and repeat exactly in CI.

With `-n 2 --dist loadscope` (`make test`) the tests that watch a clock stay together, one after the other in a process;
the others run beside them, a module at a time, the long ones first, so that all processes end at the same time. One
folder of compiled code serves all processes of a run.
"""

import os
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
TIMED = (
    "engine/test_pool.py", "server/test_watchdog.py", "system/test_database.py", "system/test_disk.py",
    "system/test_edited_game.py", "system/test_hostile.py", "system/test_kill.py", "system/test_remote_workers.py",
    "system/test_slow.py", "system/test_workers.py",
)  # fmt: skip
"""Modules that say how soon something must have happened."""
LONGEST = (
    "timed", "cluster/test_faults.py", "engine/test_conformance.py", "engine/match/test_ladders.py",
    "system/test_every_game.py", "system/test_terminal.py", "system/test_browser.py", "system/test_browser_rooms.py",
    "server/test_two_nodes.py", "server/test_checker_finds_faults.py", "system/test_stop.py", "system/test_resend.py",
)  # fmt: skip
"""The groups that take half a minute or more, in the order in which they begin: those that keep many processes busy
when the timed ones are over.
"""

WARM_S = 600

if "PLYROOM_TEST_CACHE" not in os.environ:  # the processes of a run get it from the first one
    _CACHE = tempfile.TemporaryDirectory(prefix="plyroom-test-code-", ignore_cleanup_errors=True)
    os.environ["PLYROOM_TEST_CACHE"] = _CACHE.name

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # A shell without job control starts background jobs deaf to Ctrl-C, and so would be all programs started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Says which tests belong into one process. (pytest-xdist's own groups do not work with pytest 9.2.)"""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.partition("::")[0].removeprefix("tests/"))

    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Beside other processes the longest groups begin first. Whoever is the first to need all searches has time to
    compile them, on a busy machine too.
    """
    for item in items:
        if "warm_engine" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(WARM_S))
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = {group: i for i, group in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(group_of(item.path.relative_to(TESTS).as_posix()), len(place)))


def group_of(module: str) -> str:
    """The tests of one module run in one process, and all that are timed do."""
    return "timed" if module in TIMED else module
