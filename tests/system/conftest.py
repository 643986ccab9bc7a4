"""Fixtures of the system tests."""

import os
import subprocess
import sys

import pytest

from engine.rules.registry import load_game, production_ids
from tests.support.server_process import ROOT


@pytest.fixture(scope="session")
def warm_engine() -> None:
    """Compiles all searches, so that no test waits for the compiler.

    Another process does it, whose memory is free afterwards.
    """
    # Not at the top: the compiler reads PLYROOM_CACHE, which the conftest of the engine sets.
    from tests.support.compiled import is_cached

    if all(is_cached(load_game(game_id)) for game_id in production_ids()):
        return
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    program = f"from tests.support.compiled import compile_all; compile_all({worker}, {workers})"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
