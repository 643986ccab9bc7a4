"""boardgame.io, with its matches in memory: its server, and its clients' messages over Socket.IO.

`make bench-peers` installs it into the virtual environment.
"""

import asyncio
import json
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import click

from server.bench.peers.play import Pair, Spectator
from server.bench.players import Player, connect

#: The server program.
PROGRAM = Path(__file__).with_name("boardgame.cjs")
#: The folder into which `make bench-peers` installs boardgame.io.
MODULES = Path(sys.prefix) / "peers" / "node_modules"
#: The path of a WebSocket of Engine.IO, protocol version 4.
SOCKET_PATH = "/socket.io/?EIO=4&transport=websocket"
#: The name of the game and of its Socket.IO namespace.
GAME = "tic-tac-toe"
#: The first bytes of an event in the game's namespace.
EVENT = f"42/{GAME},".encode()
#: The number of moves of a match, in an update or a sync.
STATE_ID = re.compile(rb'"_stateID":(\d+)')


class PeerMissing(click.ClickException):
    """Node or boardgame.io is not installed."""


def command(modules: Path = MODULES) -> tuple[str, ...]:
    """The command that starts the server on a free port. Raises PeerMissing."""
    node = shutil.which("node")
    if node is None:
        raise PeerMissing(
            "boardgame.io needs Node and npm, which are not installed"
            " (Debian: apt-get install nodejs npm); then run `make bench-peers`"
        )
    if not (modules / "boardgame.io").is_dir():
        raise PeerMissing(
            f"boardgame.io is not installed in {modules}; `make bench-peers` installs it"
        )
    return (node, str(PROGRAM))


def version(modules: Path = MODULES) -> str:
    """The installed version of boardgame.io."""
    package = json.loads((modules / "boardgame.io" / "package.json").read_text("utf-8"))
    return str(package["version"])


def environ(modules: Path = MODULES) -> dict[str, str]:
    return {"NODE_PATH": str(modules), "NODE_ENV": "production"}


def encode_event(*arguments: object) -> bytes:
    """An event in the game's namespace."""
    return EVENT + json.dumps(arguments, separators=(",", ":")).encode()


def moves_in(text: bytes, match: str) -> int | None:
    """The number of moves in an update of that match; None for any other message."""
    if not text.startswith(b'%s["update","%s",' % (EVENT, match.encode())):
        return None
    found = STATE_ID.search(text)
    return int(found[1]) if found else None


def is_sync(text: bytes, match: str) -> bool:
    """Whether the message answers a `sync` of that match."""
    return text.startswith(b'%s["sync","%s",' % (EVENT, match.encode()))


class SocketIo:
    """A Socket.IO connection: answers pings and passes all other messages on."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._opened = asyncio.get_running_loop().create_future()
        self.on_text = self._on_handshake
        player.on_text = self._receive

    async def open(self) -> None:
        """Enters the game's namespace."""
        # The server is ready: its first message, the Engine.IO handshake, follows the upgrade.
        self.player.send(f"40/{GAME},".encode())
        await self._opened

    def _receive(self, text: bytes) -> None:
        if text == b"2":
            self.player.send(b"3")
        else:
            self.on_text(text)

    def _on_handshake(self, text: bytes) -> None:
        if text.startswith(b"40"):
            self._opened.set_result(None)
        elif text.startswith(b"44"):
            self._opened.set_exception(ConnectionError(text.decode()))


async def open_socket(port: int) -> SocketIo:
    """Connects to the game's namespace."""
    socket = SocketIo(await connect(port, SOCKET_PATH))
    await socket.open()
    return socket


class BoardgamePair(Pair):
    """A pair on boardgame.io: the first `sync` of a match creates it."""

    matches = 0

    @property
    def match(self) -> str:
        return f"m{self.number}-{self.matches}"

    async def open(self, port: int) -> None:
        sockets = (await open_socket(port), await open_socket(port))
        for number, socket in enumerate(sockets):
            socket.on_text = partial(self._on_text, number)
        self.players = (sockets[0].player, sockets[1].player)
        self.start_next_match()

    def start_next_match(self) -> None:
        self.matches += 1
        self._sync(0)

    def _sync(self, player: int) -> None:
        self.players[player].send(encode_event("sync", self.match, str(player), None, 2))

    def send_move(self, player: int, ply: int, cell: int) -> None:
        payload = {"type": "clickCell", "args": [cell], "playerID": str(player)}
        action = {"type": "MAKE_MOVE", "payload": payload}
        self.players[player].send(encode_event("update", action, ply, self.match, str(player)))

    def _on_text(self, player: int, text: bytes) -> None:
        moves = moves_in(text, self.match)
        if moves is not None:
            self.on_board(player, moves)
        elif is_sync(text, self.match):
            if player == 0:
                self._sync(1)
            else:
                self.on_started()


class BoardgameSpectator(Spectator):
    """A spectator on boardgame.io: a client without a player's number."""

    async def open(self, port: int) -> None:
        self._socket = await open_socket(port)
        self.player = self._socket.player

    async def follow(self, pair: Pair) -> None:
        assert isinstance(pair, BoardgamePair)
        match = pair.match
        synced = asyncio.get_running_loop().create_future()

        def on_text(text: bytes) -> None:
            moves = moves_in(text, match)
            if moves is not None:
                self.on_board(moves)
            elif is_sync(text, match) and not synced.done():
                synced.set_result(None)

        self._socket.on_text = on_text
        self.player.send(encode_event("sync", match, None, None, 2))
        await synced
