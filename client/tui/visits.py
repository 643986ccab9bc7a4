"""Visits to the servers that are chosen on the first screen, one at a time."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from client.address import Address
from client.connection import Connection
from client.errors import PlyroomError, Unreachable
from client.program import program
from client.tui.app import PlyroomApp, telling
from client.tui.lobby import LobbyScreen, Place, StartScreen

#: Finds or starts the server at an address (None: on this machine) and connects to it.
Connect = Callable[[Address | None], AbstractAsyncContextManager[tuple[Address, Connection]]]
#: The server of a connection as a place; the callback ends the visit with an error.
PlaceAt = Callable[[Address, Connection, Callable[[PlyroomError], None]], Place]


class Visits:
    """Shows the lobby of the server that was chosen last. Another choice ends the visit before,
    which may still be connecting.
    """

    def __init__(
        self, app: PlyroomApp, start: StartScreen, connect: Connect, place_at: PlaceAt
    ) -> None:
        self._app = app
        self._start = start
        self._connect = connect
        self._place_at = place_at
        #: The present visit, and those before that have not ended yet.
        self._running: set[asyncio.Task[None]] = set()

    def enter(self, chosen: Address | None, room: str = "") -> None:
        """Begins a visit to the server at this address; None: on this machine. With a room's id it
        begins in that room.
        """
        earlier = frozenset(self._running)
        for visit in earlier:
            visit.cancel()
        visit = asyncio.create_task(self._visit(chosen, room, earlier), name="plyroom visit")
        self._running.add(visit)
        visit.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Ends every visit."""
        running = frozenset(self._running)
        for visit in running:
            visit.cancel()
        if running:
            await asyncio.wait(running)

    async def _visit(
        self, chosen: Address | None, room: str, earlier: frozenset[asyncio.Task[None]]
    ) -> None:
        """Shows the lobby of a server until it is left or fails."""
        if earlier:
            await asyncio.wait(earlier)
        try:
            async with self._connect(chosen) as (address, connection):
                with telling(self._app, connection):
                    error = await self._show_lobby(address, connection, room)
            self._start.show_problem("" if error is None else str(error))
        except Unreachable as error:
            self._start.show_problem(f"{error}. `{program()} serve` starts a server there.")
        except PlyroomError as error:
            self._start.show_problem(str(error))
        except Exception as error:  # a fault of the program, which the application reports
            self._app.crash(error)

    async def _show_lobby(
        self, address: Address, connection: Connection, room: str
    ) -> PlyroomError | None:
        """Shows the lobby until it is left; returns the error that ended it, if one did."""
        left: asyncio.Future[PlyroomError | None] = asyncio.get_running_loop().create_future()

        def end(error: PlyroomError | None) -> None:
            if not left.done():
                left.set_result(error)

        app, start = self._app, self._start
        try:
            lobby = LobbyScreen(self._place_at(address, connection, end))
            await app.push_screen(lobby, lambda _: end(None))
            start.show_problem("")
            if room:
                lobby.open(room, sit=True)
            return await left
        finally:
            while app.is_running and app.screen is not start and len(app.screen_stack) > 1:
                await app.screen.dismiss(None)
