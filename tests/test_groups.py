"""The groups in which `make test` runs the tests name modules that there are, and hold what belongs together."""

import pytest

from tests.conftest import LONGEST, TESTS, TIMED, group_of


@pytest.mark.parametrize("module", sorted({*TIMED, *LONGEST} - {"timed"}))
def test_a_group_is_of_modules_that_there_are(module: str) -> None:
    """A module that was renamed would fall out of its group and nobody would notice."""
    assert (TESTS / module).is_file()


def test_timed_modules_are_one_group() -> None:
    """None of them runs beside another."""
    assert {group_of(module) for module in TIMED} == {"timed"}
    assert group_of("engine/test_kernel.py") == "engine/test_kernel.py"
