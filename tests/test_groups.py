"""How `make test` shares the tests among its processes."""

from collections import OrderedDict

import pytest

from tests.conftest import LONGEST, TESTS, Units


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
