"""Fixtures of the system tests."""

import subprocess
import sys

import pytest

from tests.system.serving import ROOT


@pytest.fixture(scope="session")
def warm_engine() -> None:
    """All searches are compiled, so that no test waits for the compiler."""
    subprocess.run([sys.executable, "-m", "engine.warm"], cwd=ROOT, check=True, capture_output=True)
