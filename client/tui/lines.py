"""What line mode reads and prints where it runs behind the full screen."""

import asyncio
import io
from collections.abc import Callable

from client.terminal.board import DrawnBoard
from client.terminal.colours import NO_COLOURS
from client.terminal.output import Output


class LineQueue:
    """The lines that the user has sent, for line mode."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(self, line: str) -> None:
        """Adds a line."""
        self._lines.put_nowait(line)

    async def next(self) -> str | None:
        """Returns the next line."""
        return await self._lines.get()


class ScreenOutput(Output):
    """What line mode prints, for a screen. `log_line` takes a text and whether it is a message for
    the user, `log_reading` how a move was read that is then played, `show_prompt` a prompt, `ask` a
    question that yes or no answers, `give_back` a line that the server refused, and `columns` is
    the width of the screen.
    """

    def __init__(
        self,
        log_line: Callable[[str, bool], None],
        log_reading: Callable[[str], None],
        show_prompt: Callable[[str], None],
        ask: Callable[[str], None],
        give_back: Callable[[str], None],
        columns: Callable[[], int],
    ) -> None:
        super().__init__(io.StringIO(), io.StringIO(), interactive=True, colours=NO_COLOURS)
        self._log_line = log_line
        self._log_reading = log_reading
        self._show_prompt = show_prompt
        self._ask = ask
        self._give_back = give_back
        self._columns = columns
        self._has_prompt = False

    @property
    def has_prompt(self) -> bool:
        return self._has_prompt

    @property
    def width(self) -> int:
        return self._columns()

    def print(self, text: str | DrawnBoard) -> None:
        if isinstance(text, str):
            self._log_line(text, False)

    def report(self, text: str) -> None:
        self._log_line(text, True)

    def report_reading(self, text: str) -> None:
        self._log_reading(text)

    def prompt(
        self, prompt: str, is_waiting: bool = False, clocks: Callable[[], str] = str
    ) -> None:
        self._has_prompt = True
        self._show_prompt(prompt)

    def ask(self, question: str) -> None:
        self._has_prompt = True
        self._ask(question)

    def give_back(self, line: str) -> None:
        self._give_back(line)

    def clear_prompt(self) -> None:
        self._has_prompt = False

    def end_prompt(self) -> None:
        self._has_prompt = False
