"""What all tests share: property tests have no deadline (the machine may be busy), and repeat exactly in CI.

With `-n 2 --dist loadgroup` (`make test`) the tests that watch a clock stay together, one after the other in a process;
the others run beside them, a module at a time. One folder of compiled code serves all processes of a run.
"""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
TIMED = ("system", "cluster", "engine/test_pool.py", "server/test_watchdog.py")
"""Folders and modules that measure how long something takes, or keep several processes busy."""

if "PLYROOM_TEST_CACHE" not in os.environ:  # the processes of a run get it from the first one
    _CACHE = tempfile.TemporaryDirectory(prefix="plyroom-test-code-", ignore_cleanup_errors=True)
    os.environ["PLYROOM_TEST_CACHE"] = _CACHE.name

settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Says which tests belong into one process."""
    if item.config.pluginmanager.hasplugin("xdist"):
        item.add_marker(pytest.mark.xdist_group("timed" if _is_timed(item) else _module(item)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Beside other processes the long group begins first."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not _is_timed(item))


def _module(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()


def _is_timed(item: pytest.Item) -> bool:
    return any(_module(item).startswith(f"{name}/") or _module(item) == name for name in TIMED)
