"""Fixtures of the system tests."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.support.browser import open_chromium
from tests.support.server_process import ROOT

#: A program that compiles as `python -m engine.warm` does, without the personas: few tests use
#: them, and they take a quarter of the time. The processes of a parallel run begin with different
#: games, because a game that one of them compiles makes the others wait.
WARM = """
import sys
from engine.rules.registry import load_game, production_ids
from engine.search.driver import Searcher
games = production_ids()
first = len(games) * int(sys.argv[1]) // int(sys.argv[2])
for game_id in games[first:] + games[:first]:
    Searcher(load_game(game_id)).prepare()
"""


@pytest.fixture(scope="session")
def warm_engine() -> None:
    """Compiles all searches, so that no test waits for the compiler."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    subprocess.run(
        [sys.executable, "-c", WARM, worker, workers], cwd=ROOT, check=True, capture_output=True
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """A Chromium for the tests of a module."""
    async with open_chromium() as browser:
        yield browser
