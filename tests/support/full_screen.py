"""The full screen of `plyroom` on a terminal in memory: a test presses keys and reads the lines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from client.terminal.wrapping import visible_width
from client.tui.app import PlyroomApp

#: The number of times that `until` lets the application work before it gives up.
PATIENCE = 300


class FullScreen:
    """A running application."""

    def __init__(self, app: PlyroomApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    def lines(self) -> list[str]:
        """The lines of the screen on top."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    async def until(self, holds: Callable[[], object], what: str = "") -> None:
        """Lets the application work until something holds."""
        for _ in range(PATIENCE):
            if holds():
                return
            await self.pilot.pause()
            await asyncio.sleep(0)
        raise AssertionError(f"never: {what}\n" + "\n".join(self.lines()))

    async def shows(self, *words: str) -> None:
        """Waits until the screen shows these words, each within a line."""
        await self.until(
            lambda: all(any(word in line for line in self.lines()) for word in words), str(words)
        )

    async def hides(self, *words: str) -> None:
        """Waits until the screen shows none of these words."""
        await self.until(
            lambda: not any(word in line for line in self.lines() for word in words), str(words)
        )

    async def press(self, *keys: str) -> None:
        """Presses keys by their names."""
        await self.pilot.press(*keys)

    async def click_on(self, words: str) -> None:
        """Clicks on these words where they are shown first, from above."""
        await self.shows(words)
        row = next(row for row, line in enumerate(self.lines()) if words in line)
        line = self.lines()[row]
        await self.pilot.click(offset=(visible_width(line[: line.index(words)]), row))

    async def is_whole(self, what: str = "") -> None:
        """Asserts that the screen is the same when all of it is drawn anew: nothing is left over
        from before. Colours count.
        """
        for line in self.app.screen.query(Input):
            line.cursor_blink = False
        await self.pilot.pause()
        shown = self.app.screen._compositor.render_strips()
        for widget in self.app.screen.walk_children():
            widget.refresh(layout=True)
        await self.pilot.pause()
        assert shown == self.app.screen._compositor.render_strips(), what

    async def has_rows(self, rows: int) -> None:
        """Waits until the screen has this height."""
        await self.until(lambda: len(self.lines()) == rows, f"{rows} rows")


@asynccontextmanager
async def running(
    first: Callable[[], Screen[None]], columns: int = 80, rows: int = 24
) -> AsyncIterator[FullScreen]:
    """Runs an application that begins with this screen until the end of the block."""
    app = PlyroomApp(first)
    async with app.run_test(size=(columns, rows), notifications=True) as pilot:
        yield FullScreen(app, pilot)
