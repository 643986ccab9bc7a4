"""The application: it owns the terminal and shows one screen at a time."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import ClassVar

from rich.segment import Segments
from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Event, Key, MouseDown
from textual.screen import Screen

from client.connection import Connection, State
from client.errors import PlyroomError
from client.terminal import words
from client.tui.lobby import LobbyScreen
from client.tui.pages import Page
from server.protocol.messages import Notification

#: The modes of a terminal in which it reports the mouse.
MOUSE_MODES = (1000, 1003, 1015, 1006)
#: The sentence for each state of the connection but a good one.
BANNERS = {
    State.LOST: "The connection is lost; trying again …",
    State.RESTARTING: "The server restarts; trying again …",
}


class PlyroomApp(App[None]):
    """Runs a first screen until it is left. `failure` is the error that ended it, if one did."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
        Binding("ctrl+q", "exit", show=False, priority=True),
    ]
    CSS = """
    * { scrollbar-color: ansi_blue; scrollbar-background: ansi_default; scrollbar-size: 1 1; }
    Static { link-style: none; link-color: ansi_default; link-background: ansi_default;
        link-style-hover: bold; link-color-hover: ansi_default;
        link-background-hover: ansi_default; }
    Toast { background: ansi_default; color: ansi_default; border: round ansi_blue; }
    """

    def __init__(self, first: Callable[[], Screen[None]]) -> None:
        # The terminal's own colours for text, so that it suits light and dark terminals.
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._first = first
        self.failure: PlyroomError | None = None
        #: Whether the last input was the mouse's.
        self.is_by_mouse = False

    def on_mount(self) -> None:
        """Shows the first screen; its end is that of the application."""
        self.push_screen(self._first(), lambda _: self.exit())

    def fail(self, error: PlyroomError) -> None:
        """Ends the application with an error, which `run_app` raises."""
        self.failure = error
        self.exit(return_code=1)

    async def on_event(self, event: Event) -> None:
        """Notices whether the user works with the mouse."""
        if isinstance(event, Key | MouseDown):
            self.is_by_mouse = isinstance(event, MouseDown)
        await super().on_event(event)

    def take_mouse(self, is_taken: bool) -> bool:
        """Takes the mouse, or gives it back to the terminal, which can then copy text; returns
        whether the application has it. A user whose last input was the mouse's keeps it here.
        """
        if not is_taken and self.is_by_mouse:
            return True
        if self._driver is not None:
            state = "h" if is_taken else "l"
            self._driver.write("".join(f"\x1b[?{mode}{state}" for mode in MOUSE_MODES))
            self._driver.flush()
        return is_taken

    def crash(self, error: Exception) -> None:
        """Ends the application because of a fault of the program, in a task beside it."""
        self._handle_exception(error)

    def show_state(self, state: State) -> None:
        """Shows the state of the connection above every page."""
        for screen in self.screen_stack:
            if isinstance(screen, Page):
                screen.show_banner(BANNERS.get(state, ""))

    def show_notification(self, notification: Notification) -> None:
        """Tells what waits in another room, and lets every lobby fetch its lists again."""
        if notification.text:
            self.notify(words.quoted(notification.text), markup=False)
        for screen in self.screen_stack:
            if isinstance(screen, LobbyScreen):
                screen.reload()

    def action_exit(self) -> None:
        """Leaves at once."""
        self.exit()

    def _fatal_error(self) -> None:
        """Reports a fault of the program in one line, after the screen is restored.

        With PLYROOM_DEBUG set, Textual's own report follows.
        """
        if os.environ.get("PLYROOM_DEBUG"):
            super()._fatal_error()
            return
        error = self._exception
        line = f"Plyroom has failed: {type(error).__name__}: {error}. Please report it; "
        line += "--plain does without the full screen."
        self._exit_renderables.append(Segments(self.console.render(line, self.console.options)))
        self._close_messages_no_wait()


@contextmanager
def telling(app: PlyroomApp, connection: Connection) -> Iterator[None]:
    """Lets the application show the state of a connection and what waits in other rooms, in place
    of what told it before, until the end of the block.
    """
    before = connection.on_state, connection.on_notification
    connection.on_state, connection.on_notification = app.show_state, app.show_notification
    try:
        yield
    finally:
        connection.on_state, connection.on_notification = before


async def run_app(app: PlyroomApp, connection: Connection | None = None) -> None:
    """Runs the application on the terminal to its end; raises the PlyroomError that ended it."""
    with nullcontext() if connection is None else telling(app, connection):
        await app.run_async()
    if app.failure is not None:
        raise app.failure
    if app.return_code:
        raise SystemExit(1)
