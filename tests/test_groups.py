"""The modules that `make test` starts first exist."""

import pytest

from tests.conftest import LONGEST, TESTS


@pytest.mark.parametrize("module", LONGEST)
def test_every_long_module_exists(module: str) -> None:
    """A module that was renamed, but not in this list, would begin last without an error."""
    assert (TESTS / module).is_file()


def test_no_module_begins_twice() -> None:
    """Each module is listed once."""
    assert len(set(LONGEST)) == len(LONGEST)
