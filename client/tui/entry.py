"""The input line: moves, words and chat. While it is empty, its arrow keys walk the board."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input


class Completion(Suggester):
    """Completes what is typed from texts that change, the first that fits."""

    def __init__(self, texts: Callable[[], Sequence[str]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._texts = texts

    async def get_suggestion(self, value: str) -> str | None:
        """The first text that begins with what is typed; None for an empty line."""
        typed = value.casefold()
        return next(
            (
                value + text[len(value) :]
                for text in self._texts()
                if typed and len(text) > len(value) and text.casefold().startswith(typed)
            ),
            None,
        )


class Entry(Input):
    """One line. Enter sends it; what is pasted is one line too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "board('up')", show=False),
        Binding("down", "board('down')", show=False),
        Binding("tab", "complete", show=False),
        Binding("escape", "give_up", show=False),
    ]

    class Pressed(Message):
        """A key on the empty line that is for the board: a direction, "pick", "drop", "help", or
        "leave" for Ctrl-D.
        """

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    async def _on_key(self, event: Key) -> None:
        if event.key == "ctrl+j":
            # Enter, typed while the terminal was not yet this program's: after Ctrl-Z.
            event.stop()
            event.prevent_default()
            await self.action_submit()
            return
        keys = {"space": "pick", "question_mark": "help", "ctrl+d": "leave"}
        key = keys.get(event.key)
        if key is None or self.value:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Pressed(key))

    def action_board(self, key: str) -> None:
        """Walks the board."""
        self.post_message(self.Pressed(key))

    def action_cursor_left(self, select: bool = False) -> None:
        """Moves in the line, or on the board while the line is empty."""
        if self.value:
            super().action_cursor_left(select)
        else:
            self.post_message(self.Pressed("left"))

    def action_cursor_right(self, select: bool = False) -> None:
        """Moves in the line or accepts the completion, or moves on the board."""
        if self.value:
            super().action_cursor_right(select)
        else:
            self.post_message(self.Pressed("right"))

    def action_complete(self) -> None:
        """Accepts the completion; without one, gives the keys to the board."""
        if self.value:
            self.action_end()
            self.action_cursor_right()
        else:
            self.post_message(self.Pressed("keys"))

    def action_give_up(self) -> None:
        """Clears the line; on an empty one, drops what is picked."""
        if self.value:
            self.value = ""
        else:
            self.post_message(self.Pressed("drop"))

    async def action_submit(self) -> None:
        """Sends the line; on an empty one, picks the cell under the cursor."""
        if self.value.strip():
            await super().action_submit()
        else:
            self.value = ""
            self.post_message(self.Pressed("pick"))
