"""Our own server's clients: one room for each pair, and further matches by rematch."""

import re
from functools import partial

from server.bench.peers.play import Pair, Spectator
from server.bench.players import Player, RequestClient, connect

#: The number of moves before a `moved` event.
PLY = re.compile(rb'"ply":(\d+)')


def cell_name(cell: int) -> str:
    """The move token of a cell."""
    return f"{'abc'[cell % 3]}{cell // 3 + 1}"


def moves_in(text: bytes) -> int | None:
    """The number of moves on the board after a `moved` event; None for any other message."""
    if not text.startswith(b'{"t":"event"') or b'"kind":"moved"' not in text:
        return None
    found = PLY.search(text)
    return int(found[1]) + 1 if found else None


async def open_client(port: int, name: str) -> RequestClient:
    """Connects a guest."""
    client = RequestClient(await connect(port))
    await client.request("welcome", t="hello", protocol=1, name=name)
    return client


class PlyroomPair(Pair):
    """A pair on our server."""

    room = ""
    _commands = 0

    async def open(self, port: int) -> None:
        clients = [await open_client(port, f"p{self.number}-{seat}") for seat in range(2)]
        seats = [{"who": "me"}, {"who": "open"}]
        create = await clients[0].request(
            "ack", t="create", id="create", game="tic-tac-toe", seats=seats, visibility="unlisted"
        )
        self.room = create["room"]
        for client in clients:
            await client.request("joined", t="join", id="join", room=self.room)
        await clients[1].request("ack", t="sit", id="sit", room=self.room, seat=1)
        self.players = (clients[0].player, clients[1].player)
        for number, player in enumerate(self.players):
            player.on_text = partial(self._on_text, number)
        self.on_started()

    def start_next_match(self) -> None:
        self._send(0, '"t":"rematch"')

    def send_move(self, player: int, ply: int, cell: int) -> None:
        self._send(player, f'"t":"move","ply":{ply},"move":"{cell_name(cell)}"')

    def _send(self, player: int, text: str) -> None:
        self._commands += 1
        self.players[player].send(
            f'{{"id":"{self._commands}","room":"{self.room}",{text}}}'.encode()
        )

    def _on_text(self, player: int, text: bytes) -> None:
        moves = moves_in(text)
        if moves is not None:
            self.on_board(player, moves)
        elif player == 1 and text.startswith(b'{"t":"event"'):
            if b'"kind":"offered"' in text:
                self._send(1, '"t":"rematch"')
            elif b'"kind":"started"' in text:
                self.first_mover = 1 - self.first_mover
                self.on_started()
        elif text.startswith(b'{"t":"error"'):
            raise RuntimeError(f"the server refused: {text.decode()}")


class PlyroomSpectator(Spectator):
    """A spectator on our server; it follows the room through all matches."""

    _client: RequestClient | None = None

    async def open(self, port: int) -> None:
        self._client = await open_client(port, "spectator")
        self.player: Player = self._client.player

    async def follow(self, pair: Pair) -> None:
        assert isinstance(pair, PlyroomPair)
        if self._client is None:
            return
        client, self._client = self._client, None
        await client.request("joined", t="join", id="join", room=pair.room)
        self.player.on_text = self._on_text

    def _on_text(self, text: bytes) -> None:
        moves = moves_in(text)
        if moves is not None:
            self.on_board(moves)
