"""Prints data to stdout and messages to stderr, and shows an open prompt again after them."""

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import TextIO

#: Returns to the beginning of the line and erases it.
ERASE_LINE = "\r\x1b[K"
#: The width of a line if the output is not a terminal, in characters.
PIPE_WIDTH = 80
#: The least width to which text is wrapped, in characters.
MIN_WIDTH = 20


class Output:
    """Prints lines to a stream for data and a stream for messages.

    On a terminal a line interrupts an open prompt, which is then shown again, and a line that is
    longer than the terminal is wide is wrapped between words. Elsewhere a prompt is a line that
    begins with "? ".

    With `erases`, a line replaces a prompt that only says what the program waits for, so that such
    prompts do not remain between the lines.
    """

    def __init__(
        self,
        data: TextIO,
        messages: TextIO,
        interactive: bool,
        colour: bool = False,
        erases: bool = False,
    ) -> None:
        self.colour = colour
        self.interactive = interactive
        self._data = data
        self._messages = messages
        self._prompt = ""
        self._erases = erases
        self._is_erasable = False

    @property
    def has_prompt(self) -> bool:
        """Whether a prompt waits for input."""
        return self._prompt != ""

    @property
    def width(self) -> int:
        """The width of a line in characters: the terminal's less one, elsewhere PIPE_WIDTH."""
        return shutil.get_terminal_size().columns - 1 if self._data.isatty() else PIPE_WIDTH

    @property
    def has_blocks(self) -> bool:
        """Whether the output can show block characters."""
        try:
            "▁█".encode(getattr(self._data, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def print(self, text: str) -> None:
        """Prints data: moves, boards, results, chat, the output of commands."""
        self._print_to(self._data, text)

    def report(self, text: str) -> None:
        """Prints a message for the user: about progress, or about an error."""
        self._print_to(self._messages, text)

    def prompt(self, prompt: str, is_waiting: bool = False) -> None:
        """Shows a prompt for input; on a terminal, nothing if it is shown already.

        With `is_waiting` it only says what the program waits for.
        """
        if self.interactive:
            if self._prompt != f"{prompt} > ":
                self.end_prompt()
                self._prompt = f"{prompt} > "
                self._is_erasable = is_waiting and self._erases
                self._write(self._data, self._prompt)
        else:
            self._write(self._data, f"? {prompt}\n")

    def clear_prompt(self) -> None:
        """Marks the prompt as answered: the user typed a line, which ended the prompt's line."""
        self._prompt = ""

    def end_prompt(self) -> None:
        """Ends an open prompt."""
        if self._prompt:
            self._leave_prompt()
            self._prompt = ""

    def _leave_prompt(self) -> None:
        """Ends the line of the prompt, or erases it."""
        self._write(self._data, ERASE_LINE if self._is_erasable else "\n")

    def _print_to(self, stream: TextIO, text: str) -> None:
        if self._prompt:
            self._leave_prompt()
        if self.interactive:
            text = wrap(text, shutil.get_terminal_size().columns)
        self._write(stream, f"{text}\n")
        if self._prompt:
            self._write(self._data, self._prompt)

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        """Writes and flushes; replaces characters that the stream cannot encode."""
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()


def wrap(text: str, width: int) -> str:
    """Wraps each line that is longer than `width` characters between its words.

    The continuation of a line is indented by two more spaces than the line. A line without a space
    is left as it is.
    """
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    wrapped = textwrap.wrap(
        line,
        max(width, MIN_WIDTH),
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapped)


def should_use_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to use colour: on a terminal that has colours, unless NO_COLOR is set."""
    return (
        stream.isatty()
        and not environ.get("NO_COLOR")
        and environ.get("TERM", "") not in ("", "dumb")
    )


def standard_output() -> Output:
    """The output to this process's stdout and stderr."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    return Output(
        sys.stdout,
        sys.stderr,
        interactive,
        should_use_colour(sys.stdout),
        erases=os.environ.get("TERM", "") not in ("", "dumb"),
    )
