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


@pytest.fixture(scope="session")
def warm_engine() -> None:
    """Compiles all searches, so that no test waits for the compiler."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    program = f"from tests.support.compiled import compile_all; compile_all({worker}, {workers})"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """A Chromium for the tests of a module."""
    async with open_chromium() as browser:
        yield browser
