"""The order in which `make test` begins names modules that there are."""

import pytest

from tests.conftest import LONGEST, TESTS


@pytest.mark.parametrize("module", LONGEST)
def test_a_long_module_is_one_that_there_is(module: str) -> None:
    """A module that was renamed would begin last and nobody would notice."""
    assert (TESTS / module).is_file()


def test_no_module_begins_twice() -> None:
    """Each has one place."""
    assert len(set(LONGEST)) == len(LONGEST)
