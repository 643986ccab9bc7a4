"""Reads the keys of the replay on a terminal: most act at once, a number ends with Enter."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: The lines that keys stand for; an arrow key sends an escape sequence.
LINES = {
    "\x1b[C": "n", "\x1bOC": "n", " ": "n", "n": "n", "\r": "n", "\n": "n",
    "\x1b[D": "p", "\x1bOD": "p", "p": "p", "b": "p",
    "\x1b[A": "first", "\x1bOA": "first", "\x1b[H": "first", "\x1bOH": "first", "\x1b[1~": "first",
    "\x1b[B": "last", "\x1bOB": "last", "\x1b[F": "last", "\x1bOF": "last", "\x1b[4~": "last",
    "?": "?", "h": "?",
    "q": "q", "\x1b": "q", "\x03": "q", "\x04": "q",
}  # fmt: skip
#: The keys that delete the last character of a number.
DELETE = ("\x7f", "\x08")
#: Maximum length of a number with its full stops, such as "999...".
MAX_NUMBER_CHARACTERS = 8


#: An escape sequence of a key, or one character.
KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|[\s\S]")


#: Bytes to read at a time.
CHUNK_BYTES = 64


@contextmanager
def pressed_keys(descriptor: int) -> Iterator[Callable[[], str]]:
    """Yields a function that waits for keys on a terminal and returns their text.

    Until the end of the block the terminal passes on each key at once and does not echo it. Keys
    that are pressed between two calls are not lost. The function raises EOFError when the terminal
    is gone.
    """
    import termios
    import tty

    def read() -> str:
        if not (keys := os.read(descriptor, CHUNK_BYTES)):
            raise EOFError
        return keys.decode("utf-8", "ignore")

    settings = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        yield read
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)


class StepReader:
    """Reads steps of a replay from keys.

    `read` returns the text of one or more pressed keys, `echo` shows what is typed.
    """

    def __init__(self, read: Callable[[], str], echo: Callable[[str], None]) -> None:
        self._read = read
        self._echo = echo
        self._pressed: list[str] = []

    def next(self) -> str:
        """Returns the next line: "n", "p", "first", "last", "?", "q" or a number.

        It ignores keys without a meaning.
        """
        number = ""
        while True:
            key = self._next_key()
            if key.isdecimal() or (number and key == "."):
                if len(number) < MAX_NUMBER_CHARACTERS:
                    number += key
                    self._echo(key)
            elif number and key in DELETE:
                number = number[:-1]
                self._echo("\b \b")
            elif number and key in ("\r", "\n"):
                return self._end_line(number)
            elif key in LINES:
                return self._end_line(LINES[key])

    def _next_key(self) -> str:
        if not self._pressed:
            self._pressed = KEY.findall(self._read())
        return self._pressed.pop(0) if self._pressed else ""

    def _end_line(self, line: str) -> str:
        """Ends the line of the prompt, as Enter does where lines are read."""
        self._echo("\n")
        return line
