"""The keys of the replay on a terminal."""

import pytest

from client.terminal.keys import StepReader


def steps(*pressed: str) -> tuple[list[str], str]:
    """The lines that pressed keys stand for, until "q", and what was echoed."""
    keys = iter(pressed)
    echoed: list[str] = []
    reader = StepReader(lambda: next(keys), echoed.append)
    lines = [reader.next()]
    while lines[-1] != "q":
        lines.append(reader.next())
    return lines, "".join(echoed)


@pytest.mark.parametrize(
    ("pressed", "line"),
    [
        *[(key, "n") for key in ("n", " ", "\r", "\x1b[C", "\x1bOC")],
        *[(key, "p") for key in ("p", "b", "\x1b[D")],
        *[(key, "first") for key in ("\x1b[A", "\x1b[H", "\x1b[1~")],
        *[(key, "last") for key in ("\x1b[B", "\x1b[F", "\x1b[4~")],
        ("?", "?"),
    ],
)
def test_a_key_acts_at_once(pressed: str, line: str) -> None:
    assert steps(pressed, "q")[0] == [line, "q"]


def test_a_number_ends_with_enter() -> None:
    """It may have full stops, can be corrected, and is shown as it is typed."""
    lines, echoed = steps("1", "3", "\x7f", "2", ".", ".", ".", "\r", "q")
    assert lines == ["12...", "q"]
    assert echoed.startswith("13\b \b2...\n")


def test_keys_that_arrive_together_act_one_after_the_other() -> None:
    assert steps("nn\x1b[Dq")[0] == ["n", "n", "p", "q"]


def test_other_keys_are_ignored() -> None:
    assert steps("x", "\x1b[15~", "\t", "\x7f", ".", "q")[0] == ["q"]


@pytest.mark.parametrize("key", ["q", "\x1b", "\x03", "\x04"])
def test_quitting(key: str) -> None:
    assert steps(key + "q")[0] == ["q"]
