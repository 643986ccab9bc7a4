"""How `make test` shares the tests among its processes."""

import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import pytest

from tests.conftest import LONGEST, TESTS, Units

#: Runs the test file of its argument with the hooks of tests/conftest.py, and END_S of a second.
RUN = """
import sys
import pytest
import tests.conftest

tests.conftest.END_S = 1
sys.exit(pytest.main(["-q", "-p", "tests.conftest", sys.argv[1]]))
"""
#: A test that fails, with a fixture that then waits for ever.
STUCK = """
import threading
import pytest

@pytest.fixture
def stuck():
    yield
    threading.Event().wait()

def test_that_fails(stuck):
    assert False
"""


@pytest.mark.parametrize("module", LONGEST)
def test_every_long_module_exists(module: str) -> None:
    """A module that was renamed, but not in this list, would begin last without an error."""
    assert (TESTS / module).is_file()


def test_no_module_begins_twice() -> None:
    """Each module is listed once."""
    assert len(set(LONGEST)) == len(LONGEST)


def test_a_test_that_ends_its_process_is_not_run_again() -> None:
    """The other processes get the rest of its unit, and no unit that is done."""
    units = Units.__new__(Units)
    node = object()
    units.workqueue = OrderedDict()
    units.assigned_work = {
        node: {
            "a.py": {"a.py::one": True},
            "b.py": {"b.py::one": True, "b.py::two": False, "b.py::three": False},
        }
    }
    assert units.remove_node(node) == "b.py::two"
    assert units.workqueue == {"b.py": {"b.py::one": True, "b.py::two": True, "b.py::three": False}}


def test_a_failed_test_whose_fixture_hangs_ends_its_process(tmp_path: Path) -> None:
    """Its process ends and says where it stood. (In a parallel run, the others do the rest.)"""
    file = tmp_path / "test_stuck.py"
    file.write_text(STUCK)
    # A run of its own, not a process of this one.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, file],
        cwd=TESTS.parent, env=environ, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "F" in done.stdout
    assert "in stuck" in done.stderr
