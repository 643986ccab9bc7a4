"""Lines from a pipe, and output that keeps its prompt."""

import asyncio
import io
import os
from collections.abc import Iterator

import pytest

from client.terminal.keyboard import LINE_CHARACTERS, LINES_AHEAD, Lines
from client.terminal.output import Output, wants_colour


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for end in (reading, writing):
        try:
            os.close(end)
        except OSError:
            continue


async def test_lines_arrive_one_by_one_however_they_were_written(pipe: tuple[int, int]) -> None:
    """Lines may be split inside a character, end with CR LF or LF, or be invalid UTF-8."""
    reading, writing = pipe
    lines = Lines(reading)
    os.write(writing, b"one\r\ntwo\nthr\xe2\x99")
    assert [await lines.next(), await lines.next()] == ["one", "two"]
    os.write(writing, b"\x9cee\n\n\xff\nlast")
    os.close(writing)
    assert [await lines.next() for _ in range(5)] == ["thr\u265cee", "", "\ufffd", "last", None]


async def test_unread_lines_wait(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = Lines(reading)
    os.write(writing, b"".join(b"%d\n" % n for n in range(LINES_AHEAD * 3)))
    os.close(writing)
    assert [await lines.next() for _ in range(LINES_AHEAD * 3 + 1)] == [
        *map(str, range(LINES_AHEAD * 3)),
        None,
    ]


async def test_a_line_without_an_end_is_cut(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = Lines(reading)
    waiting = asyncio.create_task(lines.next())
    await asyncio.to_thread(os.write, writing, b"x" * (3 * LINE_CHARACTERS))
    await asyncio.to_thread(os.write, writing, b"\n")
    assert len(await waiting or "") <= 2 * LINE_CHARACTERS + 1


def test_the_loop_may_end_while_a_line_is_awaited(pipe: tuple[int, int]) -> None:
    """The reading thread then ends silently."""
    reading, writing = pipe

    async def main() -> None:
        lines = Lines(reading)
        os.write(writing, b"one\n")
        assert await lines.next() == "one"

    asyncio.run(main())
    os.write(writing, b"two\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_prompt_on_a_terminal_is_shown_again_after_other_output() -> None:
    screen = Terminal()
    output = Output(screen, screen, interactive=True)
    output.ask("move")
    output.report("hello")
    output.answered()
    output.say("data")
    output.ask("move")
    output.close()
    assert screen.getvalue() == "move > \nhello\nmove > data\nmove > \n"


def test_a_prompt_elsewhere_is_a_line_and_messages_go_to_stderr() -> None:
    data, messages = io.StringIO(), io.StringIO()
    output = Output(data, messages, interactive=False)
    output.ask("Red to move")
    output.report("hello")
    output.say("1. Red: d")
    output.close()
    assert (data.getvalue(), messages.getvalue()) == ("? Red to move\n1. Red: d\n", "hello\n")


def test_characters_that_a_terminal_cannot_show_are_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Output(stream, stream, interactive=False).say("a ♜ b …")
    assert raw.getvalue() == b"a ? b ?\n"


@pytest.mark.parametrize(
    ("environ", "colour"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colour_is_for_terminals_that_support_it(environ: dict[str, str], colour: bool) -> None:
    assert wants_colour(Terminal(), environ) == colour
    assert not wants_colour(io.StringIO(), environ)
