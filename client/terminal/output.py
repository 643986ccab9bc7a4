"""Prints data to stdout and messages to stderr, and shows an open prompt again after them."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import TextIO

from client.terminal.board import DrawnBoard
from client.terminal.colours import ANSI_COLOURS, FIXED_COLOURS, NO_COLOURS
from client.terminal.wrapping import count_rows, wrap

#: Returns to the beginning of the line and erases it.
ERASE_LINE = "\r\x1b[K"
#: Goes to the line above and erases it.
ERASE_LINE_ABOVE = "\x1b[A\x1b[K"
#: The values that Python itself gives LC_CTYPE.
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
#: The width of a line if the output is not a terminal, in columns.
PIPE_WIDTH = 80


class Output:
    """Prints lines to a stream for data and a stream for messages.

    On a terminal a line interrupts an open prompt, which is then shown again, and a line that is
    wider than the terminal is wrapped between words, except the rows of a board. Elsewhere a prompt
    is a line that begins with "? ".

    With `erases`, a line replaces a prompt that only says what the program waits for, so that such
    prompts do not remain between the lines.
    """

    def __init__(
        self,
        data: TextIO,
        messages: TextIO,
        interactive: bool,
        colours: int = NO_COLOURS,
        erases: bool = False,
        has_figures: bool = False,
    ) -> None:
        self.colours = colours
        self.interactive = interactive
        #: Whether boards have figures and dark squares in place of letters.
        self.has_figures = has_figures
        self._data = data
        self._messages = messages
        self._prompt = ""
        #: Gives the times before the prompt, and the whole line as it was last written.
        self._clocks: Callable[[], str] = str
        self._written = ""
        self._erases = erases
        self._is_erasable = False
        #: The boards that were reported as too wide: their width and the terminal's, in columns.
        self._too_wide: set[tuple[int, int]] = set()

    @property
    def has_prompt(self) -> bool:
        """Whether a prompt waits for input."""
        return self._prompt != ""

    @property
    def width(self) -> int:
        """The width of a line in columns: the terminal's less one, elsewhere PIPE_WIDTH."""
        return _columns() - 1 if self._data.isatty() else PIPE_WIDTH

    @property
    def has_blocks(self) -> bool:
        """Whether the output can show block characters."""
        try:
            "▁█".encode(getattr(self._data, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def print(self, text: str | DrawnBoard) -> None:
        """Prints data: moves, boards, results, chat, the output of commands.

        The rows of a board are not wrapped. On a terminal that is too narrow its cells are closer;
        if that is too wide too, a message says how many columns it needs, once for both widths, and
        the pieces follow in words.
        """
        if isinstance(text, DrawnBoard):
            self._print_board(text)
        else:
            self._print_lines((self._data, _wrapped(text, self._data)))

    def report(self, text: str) -> None:
        """Prints a message for the user: about progress, or about an error."""
        self._print_lines((self._messages, _wrapped(text, self._messages)))

    def report_reading(self, text: str) -> None:
        """Prints how a move was read that is then played."""
        self.report(text)

    def prompt(
        self, prompt: str, is_waiting: bool = False, clocks: Callable[[], str] = str
    ) -> None:
        """Shows a prompt for input; on a terminal, nothing if it is shown already.

        With `is_waiting` it only says what the program waits for. `clocks` gives the times of the
        players for each time that the prompt is written; other times are no other prompt.
        """
        if self.interactive:
            if self._prompt != prompt:
                self.end_prompt()
                self._prompt, self._clocks = prompt, clocks
                self._is_erasable = is_waiting and self._erases
                self._write_prompt()
        else:
            times = clocks()
            self._write(self._data, f"? {prompt} ({times})\n" if times else f"? {prompt}\n")

    def ask(self, question: str) -> None:
        """Asks a question that the next line answers by yes or no."""
        self.prompt(f"{question} yes or no")

    def _write_prompt(self) -> None:
        times = self._clocks()
        self._written = f"{times}. {self._prompt} > " if times else f"{self._prompt} > "
        self._write(self._data, self._written)

    def clear_prompt(self) -> None:
        """Marks the prompt as answered: the user typed a line, which ended the prompt's line."""
        self._prompt = ""

    def give_back(self, line: str) -> None:
        """Gives a line that was refused back to the user, who may send it again later. A terminal
        without the full screen still shows it.
        """

    def end_prompt(self) -> None:
        """Ends an open prompt."""
        if self._prompt:
            self._leave_prompt()
            self._prompt = ""

    def _leave_prompt(self) -> None:
        """Ends the line of the prompt, or erases it."""
        if self._is_erasable:
            rows = count_rows(self._written, _columns())
            self._write(self._data, ERASE_LINE + ERASE_LINE_ABOVE * (rows - 1))
        else:
            self._write(self._data, "\n")

    def _print_board(self, board: DrawnBoard) -> None:
        columns = _columns()
        is_narrow = self._data.isatty() and board.width > columns
        drawn = board.compact if is_narrow and board.compact is not None else board
        notes = _wrapped("\n".join(drawn.notes), self._data)
        if not is_narrow or drawn.width <= columns:
            self._print_lines((self._data, "\n".join((*drawn.rows, notes))))
            return
        lines = [(self._data, f"{_wrapped(board.pieces, self._data)}\n{notes}")]
        widths = (drawn.width, columns)
        if widths not in self._too_wide:
            self._too_wide.add(widths)
            advice = f"The board needs {widths[0]} columns; here are {widths[1]}."
            lines.insert(0, (self._messages, _wrapped(advice, self._messages)))
        self._print_lines(*lines)

    def _print_lines(self, *lines: tuple[TextIO, str]) -> None:
        """Prints lines, each to its stream, in place of an open prompt or below it."""
        if self._prompt:
            self._leave_prompt()
        for stream, text in lines:
            self._write(stream, f"{text}\n")
        if self._prompt:
            self._write_prompt()

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        """Writes and flushes; replaces characters that the stream cannot encode."""
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()


def _columns() -> int:
    """The width of the terminal."""
    return shutil.get_terminal_size().columns


def _wrapped(text: str, stream: TextIO) -> str:
    """The text for a stream: wrapped to the width of a terminal, elsewhere as it is."""
    return wrap(text, _columns()) if stream.isatty() else text


def count_colours(stream: TextIO, environ: Mapping[str, str] = os.environ) -> int:
    """The number of colours to use on a stream: none unless it is a terminal that has colours, and
    none if NO_COLOR is set.
    """
    term = environ.get("TERM", "")
    if not stream.isatty() or environ.get("NO_COLOR") or term in ("", "dumb"):
        return NO_COLOURS
    has_fixed = "256color" in term or environ.get("COLORTERM") in ("truecolor", "24bit")
    return FIXED_COLOURS if has_fixed else ANSI_COLOURS


def shows_figures(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether boards have figures on a stream: it is a terminal, not a dumb one, whose locale is
    UTF-8.

    The encoding of the stream does not tell: in the locale C Python writes UTF-8 (PEP 538 and 540),
    and sets LC_CTYPE to say so.
    """
    if not stream.isatty() or environ.get("TERM", "") in ("", "dumb"):
        return False
    names = [environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")]
    if names[1] in COERCED and names[2] in ("", "C", "POSIX"):
        names[1] = ""
    locale = next(filter(None, names), "")
    return locale.lower().endswith(("utf-8", "utf8")) and (stream.encoding or "").lower() == "utf-8"


def standard_output(is_ascii: bool = False) -> Output:
    """The output to this process's stdout and stderr; with `is_ascii` boards have letters only."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    return Output(
        sys.stdout,
        sys.stderr,
        interactive,
        count_colours(sys.stdout),
        erases=os.environ.get("TERM", "") not in ("", "dumb"),
        has_figures=not is_ascii and shows_figures(sys.stdout),
    )
