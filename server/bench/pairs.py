"""Pairs of players that repeat a drawn match, and the rate at which they move."""

import asyncio
import time
from collections.abc import Callable

from server.bench.players import Player, RequestClient, connect

#: The moves of a drawn tic-tac-toe match.
DRAWN_GAME = ("a1", "b1", "c1", "b2", "a2", "c2", "b3", "a3", "c3")


class Pair:
    """Two players in one room who repeat the same match. A player sends the next move once the
    previous one is acknowledged and has reached the opponent.
    """

    def __init__(self, room: str, players: tuple[Player, Player], meter: "Meter") -> None:
        self.room = room
        self.players = players
        self._meter = meter
        self._ply = 0
        self._first_mover = 0
        self._sent_s = 0.0
        self._commands = 0
        self._acked = self._delivered = False
        players[0].on_text = lambda text: self._on_text(0, text)
        players[1].on_text = lambda text: self._on_text(1, text)

    def _send(self, player: int, text: str) -> None:
        self._commands += 1
        self.players[player].send(
            f'{{"id":"{self._commands}","room":"{self.room}",{text}}}'.encode()
        )

    def move(self) -> None:
        """Sends the next move of the side to move."""
        self._acked = self._delivered = False
        self._sent_s = time.perf_counter()
        self._send(
            (self._ply + self._first_mover) & 1,
            f'"t":"move","ply":{self._ply},"move":"{DRAWN_GAME[self._ply]}"',
        )

    def _on_text(self, player: int, text: bytes) -> None:
        mover = (self._ply + self._first_mover) & 1
        if text.startswith(b'{"t":"ack"'):
            if player == mover and self._ply < len(DRAWN_GAME):
                self._meter.latencies_ms.append((time.perf_counter() - self._sent_s) * 1000)
                self._acked = True
                self._advance()
        elif text.startswith(b'{"t":"event"'):
            if player != mover and b'"kind":"moved"' in text and b'"ply":%d,' % self._ply in text:
                self._delivered = True
                self._advance()
            elif b'"kind":"offered"' in text and player == 1:
                self._send(1, '"t":"rematch"')
            elif b'"kind":"started"' in text and player == 1:
                self._ply, self._first_mover = 0, 1 - self._first_mover
                self._meter.schedule(self.move)
        elif text.startswith(b'{"t":"error"'):
            raise RuntimeError(f"the server refused: {text.decode()}")

    def _advance(self) -> None:
        if not (self._acked and self._delivered):
            return
        self._acked = self._delivered = False
        self._ply += 1
        self._meter.moves += 1
        if self._ply < len(DRAWN_GAME):
            self._meter.schedule(self.move)
        else:
            self._send(0, '"t":"rematch"')


class Meter:
    """Counts moves and schedules the next one of each pair: at once, or at a fixed rate over all
    pairs.
    """

    def __init__(self, per_s: float | None) -> None:
        self.moves = 0
        self.latencies_ms: list[float] = []
        self._per_s = per_s
        self._next_s = 0.0
        self._is_open = True

    def schedule(self, move: Callable[[], None]) -> None:
        if not self._is_open:
            return
        if self._per_s is None:
            move()
            return
        loop = asyncio.get_running_loop()
        self._next_s = max(self._next_s + 1 / self._per_s, loop.time())
        loop.call_at(self._next_s, move)

    def close(self) -> None:
        self._is_open = False


async def make_pair(
    port: int, meter: Meter, number: int, meet: bool = True, clock: str | None = None
) -> Pair:
    """Makes two guests and a room in which they start a match, with a clock if `clock` names one.

    As real clients do, the host of a cluster joins the new room on a second socket, which names it,
    and the guest names the room at once, so that they meet on one node. Without `meet` both stay on
    the nodes to which they happen to connect.
    """
    host = RequestClient(await connect(port))
    welcome = await host.request("welcome", t="hello", protocol=1, name=f"p{number}-0")
    seats = [{"who": "me"}, {"who": "open"}]
    fields = {"game": "tic-tac-toe", "seats": seats} | ({"clock": clock} if clock else {})
    create = await host.request("ack", t="create", id="create", **fields)
    room = create["room"]
    await host.request("joined", t="join", id="join", room=room)
    path = room_path(room) if meet else "/ws"
    if meet and welcome.get("nodes", 1) > 1:
        host = await change_socket(host, port, room, welcome["token"])
    guest = RequestClient(await connect(port, path))
    await guest.request("welcome", t="hello", protocol=1, name=f"p{number}-1")
    await guest.request("joined", t="join", id="join", room=room)
    await guest.request("ack", t="sit", id="sit", room=room, seat=1)
    return Pair(room, (host.player, guest.player), meter)


async def change_socket(client: RequestClient, port: int, room: str, token: str) -> RequestClient:
    """Joins the room on a socket that names it, then closes the client's first socket."""
    following = RequestClient(await connect(port, room_path(room)))
    await following.request("welcome", t="hello", protocol=1, token=token)
    await following.request("joined", t="join", id="again", room=room, since=1)
    client.player.transport.abort()
    return following


def room_path(room: str) -> str:
    """The path of a socket of the room, by which the proxy chooses the node."""
    return f"/ws?room={room}"
