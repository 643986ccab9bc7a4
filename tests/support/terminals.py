"""Terminals in memory: streams that the client takes for one, and an emulator of its screen."""

import io

import pyte

#: The size of a terminal as most open, in columns and rows.
COLUMNS, ROWS = 80, 24


class Terminal(io.StringIO):
    """A stream in memory that counts as a terminal."""

    def isatty(self) -> bool:
        return True


class EmulatedTerminal(Terminal):
    """A terminal whose screen can be read: the emulator obeys every code and breaks long lines.

    `getvalue` returns what was written, with its codes. The screen is as high as the test wants,
    so that nothing scrolls away.
    """

    def __init__(self, columns: int = COLUMNS, rows: int = 1000) -> None:
        super().__init__()
        self.columns = columns
        self.screen = pyte.Screen(columns, rows)
        self._emulator = pyte.Stream(self.screen)

    def write(self, text: str) -> int:
        self._emulator.feed(text.replace("\n", "\r\n"))  # as the kernel does
        return super().write(text)

    def lines(self) -> list[str]:
        """The lines of the screen down to the last one with text, without spaces at their ends."""
        buffer = self.screen.buffer
        lines = []
        for row in range(1 + max(buffer, default=-1)):
            cells = buffer[row]
            line = "".join(cells[col].data for col in range(1 + max(cells, default=-1)))
            lines.append(line.rstrip())
        while lines and not lines[-1]:
            lines.pop()
        return lines
