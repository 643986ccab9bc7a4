"""Fixtures of the system tests."""

import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.support.browser import open_chromium
from tests.support.server_process import ROOT

#: A program that compiles as `python -m engine.warm` does, without the personas: few tests use
#: them, and they take a quarter of the time.
WARM = """
from engine.rules.registry import load_game, production_ids
from engine.search.driver import Searcher
for game_id in production_ids():
    Searcher(load_game(game_id)).prepare()
"""


@pytest.fixture(scope="session")
def warm_engine() -> None:
    """Compiles all searches, so that no test waits for the compiler."""
    subprocess.run([sys.executable, "-c", WARM], cwd=ROOT, check=True, capture_output=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """A Chromium for the tests of a module."""
    async with open_chromium() as browser:
        yield browser
