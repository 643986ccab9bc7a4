"""Reading of lines from a pipe, and output around a prompt."""

import asyncio
import io
import os
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from client.terminal.keyboard import MAX_LINE_CHARACTERS, MAX_WAITING_LINES, Lines
from client.terminal.output import Output, count_colours, shows_figures
from client.terminal.wrapping import wrap
from tests.support.terminals import Terminal


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read_end, write_end = os.pipe()
    yield read_end, write_end
    with suppress(OSError):  # a test may have closed it
        os.close(write_end)
    # A thread that still reads would read the pipe of a later test, which may have the same number.
    for thread in threading.enumerate():
        if thread.name == "plyroom keyboard":
            thread.join(10)
    os.close(read_end)


async def test_lines_are_read_one_by_one_from_any_chunks_of_bytes(pipe: tuple[int, int]) -> None:
    """A chunk may end inside a character; lines may end with CR LF or LF, or be invalid UTF-8."""
    read_end, write_end = pipe
    lines = Lines(read_end)
    os.write(write_end, b"one\r\ntwo\nthr\xe2\x99")
    assert [await lines.next(), await lines.next()] == ["one", "two"]
    os.write(write_end, b"\x9cee\n\n\xff\nlast")
    os.close(write_end)
    assert [await lines.next() for _ in range(5)] == ["thr\u265cee", "", "\ufffd", "last", None]


async def test_more_lines_than_the_queue_holds_are_all_read(pipe: tuple[int, int]) -> None:
    read_end, write_end = pipe
    lines = Lines(read_end)
    os.write(write_end, b"".join(b"%d\n" % n for n in range(MAX_WAITING_LINES * 3)))
    os.close(write_end)
    assert [await lines.next() for _ in range(MAX_WAITING_LINES * 3 + 1)] == [
        *map(str, range(MAX_WAITING_LINES * 3)),
        None,
    ]


async def test_a_line_that_is_too_long_is_truncated(pipe: tuple[int, int]) -> None:
    read_end, write_end = pipe
    lines = Lines(read_end)
    line = asyncio.create_task(lines.next())
    await asyncio.to_thread(os.write, write_end, b"x" * (3 * MAX_LINE_CHARACTERS))
    await asyncio.to_thread(os.write, write_end, b"\n")
    assert len(await line or "") <= 2 * MAX_LINE_CHARACTERS + 1


def test_the_reading_thread_ends_silently_after_the_event_loop(pipe: tuple[int, int]) -> None:
    read_end, write_end = pipe

    async def main() -> None:
        lines = Lines(read_end)
        os.write(write_end, b"one\n")
        assert await lines.next() == "one"

    asyncio.run(main())
    os.write(write_end, b"two\n")


def test_a_prompt_on_a_terminal_is_shown_again_after_other_output() -> None:
    screen = Terminal()
    output = Output(screen, screen, interactive=True)
    output.prompt("move")
    output.report("hello")
    output.clear_prompt()
    output.print("data")
    output.prompt("move")
    output.end_prompt()
    assert screen.getvalue() == "move > \nhello\nmove > data\nmove > \n"


def test_a_repeated_prompt_is_shown_once_and_a_new_one_on_its_own_line() -> None:
    screen = Terminal()
    output = Output(screen, screen, interactive=True)
    output.prompt("move")
    output.prompt("move")
    output.prompt("rematch")
    assert screen.getvalue() == "move > \nrematch > "


def test_without_a_terminal_a_prompt_is_a_line_and_messages_go_to_stderr() -> None:
    data, messages = io.StringIO(), io.StringIO()
    output = Output(data, messages, interactive=False)
    output.prompt("Red to move")
    output.report("hello")
    output.print("1. Red: d")
    output.end_prompt()
    assert (data.getvalue(), messages.getvalue()) == ("? Red to move\n1. Red: d\n", "hello\n")


def test_a_long_line_is_wrapped_between_words() -> None:
    """No line is longer than the terminal is wide, and no word is cut. What follows is indented."""
    words = [f"word{number}" for number in range(30)]
    lines = wrap(f"  {' '.join(words)}\nshort", 80).split("\n")
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(lines).split() == [*words, "short"]
    assert [line[:5] for line in lines] == ["  wor", "    w", "    w", "short"]
    link = "http://192.168.0.10:8000/room/" + "a" * 80
    assert link in wrap(f"Send {link} to your friend", 80).split("\n  ")


def test_characters_that_a_terminal_cannot_show_are_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Output(stream, stream, interactive=False).print("a ♜ b …")
    assert raw.getvalue() == b"a ? b ?\n"


@pytest.mark.parametrize(
    ("environ", "colours"),
    [
        ({"TERM": "xterm"}, 8),
        ({"TERM": "xterm", "NO_COLOR": ""}, 8),
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, 256),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, 0),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, 0),
        ({}, 0),
    ],
)
def test_only_a_terminal_with_colours_gets_them(environ: dict[str, str], colours: int) -> None:
    assert count_colours(Terminal(), environ) == colours
    assert count_colours(io.StringIO(), environ) == 0


class Utf8Terminal(Terminal):
    """A terminal to which text is written in UTF-8."""

    encoding = "utf-8"


@pytest.mark.parametrize(
    ("environ", "has_figures"),
    [
        ({"TERM": "xterm", "LANG": "en_US.UTF-8"}, True),
        ({"TERM": "xterm", "LANG": "de_DE.utf8"}, True),
        ({"TERM": "xterm", "LC_CTYPE": "en_US.UTF-8"}, True),
        ({"TERM": "dumb", "LANG": "en_US.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"TERM": "xterm"}, False),
        ({"TERM": "xterm", "LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),  # as Python sets it
        ({"TERM": "xterm", "LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({"TERM": "xterm", "LANG": "de_DE.ISO-8859-1"}, False),
    ],
)
def test_boards_have_figures_where_the_locale_is_utf_8(
    environ: dict[str, str], has_figures: bool
) -> None:
    """On a terminal that obeys codes; never in a pipe, nor where text is written otherwise."""
    assert shows_figures(Utf8Terminal(), environ) is has_figures
    assert shows_figures(Terminal(), environ) is False
    assert shows_figures(io.StringIO(), environ) is False
