"""Prints data to stdout and messages to stderr, around a prompt that the output does not garble."""

import os
from collections.abc import Mapping
from typing import TextIO


class Output:
    """Lines on two streams.

    On a terminal an open prompt is interrupted and shown again; elsewhere a prompt is a line that
    begins with "? ".
    """

    def __init__(
        self, data: TextIO, messages: TextIO, interactive: bool, colour: bool = False
    ) -> None:
        self.colour = colour
        self.interactive = interactive
        self._data = data
        self._messages = messages
        self._prompt = ""

    def say(self, text: str) -> None:
        """Prints a line of data: moves, boards, results, chat, answers."""
        self._line(self._data, text)

    def report(self, text: str) -> None:
        """Prints a message about the progress or an error."""
        self._line(self._messages, text)

    def ask(self, prompt: str) -> None:
        """Shows a prompt for input."""
        if self.interactive:
            self._prompt = f"{prompt} > "
            self._write(self._data, self._prompt)
        else:
            self._write(self._data, f"? {prompt}\n")

    def answered(self) -> None:
        """Forgets the prompt: a typed line has moved the cursor to the next one."""
        self._prompt = ""

    def close(self) -> None:
        """Ends an open prompt."""
        if self._prompt:
            self._prompt = ""
            self._write(self._data, "\n")

    def _line(self, stream: TextIO, text: str) -> None:
        if self._prompt:
            self._write(self._data, "\n")
        self._write(stream, f"{text}\n")
        if self._prompt:
            self._write(self._data, self._prompt)

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the stream is a terminal that shows colour; NO_COLOR turns colour off."""
    return (
        stream.isatty()
        and not environ.get("NO_COLOR")
        and environ.get("TERM", "") not in ("", "dumb")
    )
