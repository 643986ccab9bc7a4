"""A load of clients that play, chat, send wrong commands, change nodes, resend and cut connections.

They take the rules from tests/oracle/referee.py and the state of the rooms from the server's
messages. A `History` records everything that they send and receive.
"""

import asyncio
import itertools
import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.oracle.history import CLAIMS, READER, History, Message
from tests.oracle.referee import Referee, new_referee

#: The time limit for an answer or a connection, in seconds.
WAIT_S = 15.0
#: The audiences of a line of chat.
AUDIENCES = ["room", "spectators"]
#: The games that the clients propose as the next one.
NEXT_GAMES = ("tic-tac-toe", "sticks", "connect-four")
#: How often the clients resign, abort, leave their seat or claim, of 31 commands other than moves.
ENDS_WEIGHT = 1
#: The v of a room after which the clients send nothing more to it. A client that is more than 500
#: events behind would receive a snapshot.
MAX_EVENTS = 450


@dataclass
class KnownRoom:
    """The state of a room, as one connection derives it from the server's messages."""

    v: int = 0
    game: str = ""
    options: dict[str, str] = field(default_factory=dict)
    #: The game and the options of the last `joined`, which a snapshot follows at first.
    described: tuple[str, dict[str, str]] = field(default_factory=lambda: ("", {}))
    #: The seat of the open proposal of the next game, and its v.
    proposal: tuple[int, int] | None = None
    seats: list[str | None] = field(default_factory=lambda: [None, None])
    match: str = ""
    referee: Referee | None = None
    over: bool = True
    offers: list[int] = field(default_factory=list)
    kept_for: list[str | None] = field(default_factory=lambda: [None, None])
    is_takeback_asked: bool = False
    moves: list[str] = field(default_factory=list)

    @property
    def plies(self) -> int:
        """The number of moves played."""
        return len(self.moves)

    def apply(self, message: Message) -> None:
        """Applies a message."""
        match message["t"]:
            case "joined":
                description = message["description"]
                self.described = description["game"], description["options"]
                if not self.game:
                    self.game, self.options = self.described
            case "snapshot":
                self.game, self.options = self.described
                proposed = [
                    (each["seat"], each["v"])
                    for each in message.get("proposals", ())
                    if each["what"] == "next"
                ]
                self.proposal = proposed[0] if proposed else None
                self.v = message["v"]
                self.seats = [seat["identity"] if seat else None for seat in message["seats"]]
                keepers = [(seat or {}).get("kept_for") for seat in message["seats"]]
                self.kept_for = [keeper and keeper["identity"] for keeper in keepers]
                self.offers = list(message.get("offers", ()))
                match = message["match"]
                if match is not None:
                    self._start(match["id"])
                    for played in match["moves"]:
                        self._move(played["move"])
                    self.over = "over" in match
            case "event" if message["v"] == self.v + 1:
                self.v += 1
                self._event(message)

    def _event(self, event: Message) -> None:
        match event["kind"]:
            case "seat_taken":
                self.seats[event["seat"]] = event["occupant"]["identity"]
            case "seat_left":
                self.seats[event["seat"]] = None
                self.proposal = None
            case "started":
                self.proposal = None
                if "game" in event:
                    self.game, self.options = event["game"], event["options"]
                self.seats = [seat["identity"] for seat in event["seats"]]
                self.offers = []
                self._start(event["match"])
            case "moved":
                self._move(event["move"])
                self.is_takeback_asked = False
                self.offers = [seat for seat in self.offers if seat == event["seat"]]
            case "took_back":
                moves = self.moves[: event["to_ply"]]
                self.offers, self.is_takeback_asked = [], False
                self._start(self.match)
                for move in moves:
                    self._move(move)
            case "finished":
                self.over, self.offers = True, []
                self.seats = [
                    keeper or seat for keeper, seat in zip(self.kept_for, self.seats, strict=True)
                ]
                self.kept_for = [None, None]
            case "ai_took_over" | "player_returned":
                occupant = event["occupant"]
                self.seats[event["seat"]] = occupant["identity"]
                keeper = occupant.get("kept_for")
                self.kept_for[event["seat"]] = keeper and keeper["identity"]
                self.offers = []
            case "offered" if event.get("what") == "takeback":
                self.is_takeback_asked = True
            case "declined" if event.get("what") == "takeback":
                self.is_takeback_asked = False
            case "offered" if event.get("what") == "next":
                self.proposal = event["seat"], event["v"]
            case "declined" if event.get("what") == "next":
                self.proposal = None
            case "offered":
                self.offers.append(event["seat"])
            case "declined":
                self.offers = []

    def _start(self, match: str) -> None:
        self.match, self.over, self.moves = match, False, []
        self.referee = new_referee(self.game, self.options)

    def _move(self, token: str) -> None:
        self.moves.append(token)
        if self.referee is not None:
            # A planted fault may have let an illegal move through; the checker must find that.
            with suppress(Exception):
                self.referee.play(token)

    def is_asked(self, identity: str) -> bool:
        """Returns whether a player may answer a request for a takeback."""
        return self.is_takeback_asked and not self.over and identity in self.seats

    def proposed_to(self, identity: str) -> int | None:
        """Returns the v of the proposal that a player may accept, or None."""
        if self.proposal is None or not self.over:
            return None
        seat, v = self.proposal
        return v if self.seats[1 - seat] == identity else None

    def is_my_turn(self, identity: str) -> bool:
        referee = self.referee
        return (
            not self.over
            and referee is not None
            and not referee.over
            and self.seats[referee.turn] == identity
        )


class Link:
    """One connection of a client to a node."""

    numbers = itertools.count(1)

    def __init__(self, client: "LoadClient", connection: ClientConnection) -> None:
        self.session = next(Link.numbers)
        self.rooms: dict[str, KnownRoom] = {}
        self.open = True
        self._client = client
        self._connection = connection
        self._answers: dict[str, list[asyncio.Future[Message | None]]] = {}
        self._record("open")
        self._reading = asyncio.create_task(self._read())

    def _record(self, direction: str, message: Message | None = None) -> None:
        now_s = asyncio.get_running_loop().time()
        self._client.history.add(now_s, self._client.name, self.session, direction, message)  # type: ignore[arg-type]

    async def _read(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                message: Message = json.loads(await self._connection.recv())
                self._record("in", message)
                self._on_message(message)
        self._on_end()

    def _on_message(self, message: Message) -> None:
        if message["t"] == "welcome":
            self._client.identity = message["identity"]
            self._client.token = message.get("token", self._client.token)
            self._resolve("hello", message)
        elif message["t"] in ("ack", "error"):
            self._resolve(str(message["id"]), message)
        elif message["t"] in ("joined", "snapshot", "event"):
            self.rooms.setdefault(message["room"], KnownRoom()).apply(message)

    def _resolve(self, key: str, message: Message | None) -> None:
        waiting = self._answers.get(key)
        if waiting:
            future = waiting.pop(0)
            if not future.done():
                future.set_result(message)

    def _on_end(self) -> None:
        if self.open:
            self.open = False
            self._record("close")
        for key in self._answers:
            while self._answers[key]:
                self._resolve(key, None)

    async def send(self, message: Message) -> "asyncio.Future[Message | None]":
        """Sends a message; the future is its answer, or None when the connection closes first."""
        future: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        if not self.open:
            future.set_result(None)
            return future
        self._answers.setdefault(str(message.get("id", "hello")), []).append(future)
        if self._client.answer_timeout_s is not None:
            asyncio.get_running_loop().call_later(
                self._client.answer_timeout_s, self._give_up, future
            )
        self._record("out", message)
        try:
            await self._connection.send(json.dumps(message))
        except ConnectionClosed:
            self._on_end()
        return future

    def _give_up(self, answer: "asyncio.Future[Message | None]") -> None:
        """Aborts the connection, as real clients do, when no answer has arrived."""
        if not answer.done():
            self._connection.transport.abort()

    async def ask(self, message: Message) -> Message | None:
        """Sends a message and returns its answer, or None; the checker judges a missing one."""
        return await answer_or_none(await self.send(message))

    async def close(self) -> None:
        """Aborts the connection, even in the middle of a message."""
        self._connection.transport.abort()
        await self._reading

    async def cut(self, message: Message) -> None:
        """Sends a message and aborts the connection at once: whether it arrived is unknown."""
        await self.send(message)
        await self.close()


async def answer_or_none(answer: "asyncio.Future[Message | None]") -> Message | None:
    """Returns an answer, or None after `WAIT_S`."""
    with suppress(TimeoutError):
        return await asyncio.wait_for(answer, WAIT_S)
    return None


class LoadClient:
    """A client with one identity and a connection to each node at `urls`.

    A connection must open within `connect_timeout_s`. If `answer_timeout_s` is set, the client
    aborts a connection when an answer takes longer, and the checker cannot see that the answer is
    missing. The client thinks for `pause_s` between two commands, and before it repeats one.
    """

    def __init__(
        self,
        name: str,
        urls: list[str],
        history: History,
        seed: int,
        connect_timeout_s: float = WAIT_S,
        answer_timeout_s: float | None = None,
        pause_s: float = 0.0,
    ) -> None:
        self.name = name
        self.identity = ""
        self.token: str | None = None
        self.history = history
        self.rng = random.Random(f"{name} {seed}")
        self.rooms: list[str] = []
        self.links: list[Link | None] = [None] * len(urls)
        self.sent: list[Message] = []
        #: The number of commands sent so far.
        self.command_count = 0
        self.answer_timeout_s = answer_timeout_s
        self._connect_timeout_s = connect_timeout_s
        self.pause_s = pause_s
        self._urls = urls
        self._ids = itertools.count(1)

    # --- connections

    async def link(self, number: int) -> Link:
        """Returns the connection to a node; opens it if necessary and resumes all rooms."""
        link = self.links[number]
        async with asyncio.timeout(self._connect_timeout_s):
            while link is None or not link.open:
                link = await self._connect(number)
        return link

    async def _connect(self, number: int) -> Link | None:
        try:
            connection = await connect(
                self._urls[number],
                compression=None,
                ping_interval=None,
                close_timeout=1,
                proxy=None,
                max_queue=None,
            )
        except (OSError, WebSocketException):
            await asyncio.sleep(0.02)
            return None
        before = self.links[number]
        link = self.links[number] = Link(self, connection)
        if (
            await link.ask({"t": "hello", "protocol": 1, "name": self.name, "token": self.token})
            is None
        ):
            return None
        joining = []
        for room in self.rooms:
            known = before.rooms.get(room) if before is not None else None
            if known is not None and self.rng.random() < 0.7:
                link.rooms[room] = known
                joining.append(self.join(link, room, known.v))
            else:
                joining.append(self.join(link, room, 0))
        await asyncio.gather(*joining)
        return link if link.open else None

    async def join(self, link: Link, room: str, since: int) -> None:
        """Joins a room from a v; repeats that until it is acknowledged or the connection closes."""
        while link.open:
            answer = await link.ask(
                {"t": "join", "id": self.new_id(), "room": room, "since": since}
            )
            if answer is not None and answer["t"] == "ack":
                return
            await asyncio.sleep(self.pause_s)

    def new_id(self) -> str:
        return f"{self.name}{next(self._ids)}"

    # --- commands

    async def command(self, link: Link, t: str, room: str, **fields: object) -> Message | None:
        """Sends a new command and returns its answer."""
        return await self.ask(link, {"t": t, "id": self.new_id(), "room": room, **fields})

    async def ask(self, link: Link, message: Message) -> Message | None:
        """Sends a command, new or not, and returns its answer."""
        self.command_count += 1
        self.sent.append(message)
        return await link.ask(message)

    async def play(self, until_count: int) -> None:
        """Sends commands, legal and illegal ones, until `command_count` is `until_count`."""
        while self.command_count < until_count:
            link = await self.link(self.rng.randrange(len(self.links)))
            open_rooms = [(r, known) for r, known in link.rooms.items() if known.v < MAX_EVENTS]
            my_turns = [(r, known) for r, known in open_rooms if known.is_my_turn(self.identity)]
            asked = [r for r, known in open_rooms if known.is_asked(self.identity)]
            if asked and self.rng.random() < 0.5:
                answer = self.rng.choice(["accept", "accept", "decline"])
                await self.command(link, answer, self.rng.choice(asked), what="takeback")
            elif my_turns and self.rng.random() < 0.06:
                room, known = self.rng.choice(my_turns)
                await self.command(link, "takeback", room, ply=known.plies)
            elif my_turns and self.rng.random() < 0.75:
                await self._move(link, *self.rng.choice(my_turns))
            elif open_rooms:
                await self._other_command(link, *self.rng.choice(open_rooms))
            await asyncio.sleep(self.pause_s)

    async def _move(self, link: Link, room: str, known: KnownRoom) -> None:
        """Plays a move that is legal in the state that the client has derived.

        It sometimes sends the move twice, sends it to two nodes, or cuts the connection after it.
        """
        assert known.referee is not None
        token = self.rng.choice(known.referee.moves())
        message = {
            "t": "move",
            "id": self.new_id(),
            "room": room,
            "ply": known.plies,
            "move": token,
        }
        roll = self.rng.random()
        if roll < 0.88:
            await self.ask(link, message)
        elif roll < 0.92:
            self.command_count += 1
            for future in [await link.send(message), await link.send(message)]:
                await answer_or_none(future)
        elif roll < 0.96:
            self.command_count += 1
            links = [await self.link(number) for number in range(len(self.links))]
            for future in [await each.send(message) for each in links]:
                await answer_or_none(future)
        else:
            self.command_count += 1
            await link.cut(message)
            await self.ask(await self.link(self.rng.randrange(len(self.links))), message)

    async def _other_command(self, link: Link, room: str, known: KnownRoom) -> None:
        rng, seated = self.rng, self.identity in known.seats
        if known.offers and seated and rng.random() < 0.2:
            await self.command(link, rng.choice(["decline", "accept"]), room)
            return
        if (v := known.proposed_to(self.identity)) is not None and rng.random() < 0.6:
            answer = rng.choice(["accept", "accept", "accept", "decline"])
            fields = {"v": v - rng.choice([0, 0, 0, 1])} if answer == "accept" else {}
            await self.command(link, answer, room, what="next", **fields)
            return
        if known.over and seated and None not in known.seats and rng.random() < 0.6:
            if rng.random() < 0.5:
                await self.command(link, "rematch", room)
            else:
                game, seats = rng.choice(NEXT_GAMES), rng.choice([[0, 1], [1, 0]])
                await self.command(link, "next_game", room, game=game, seats=seats)
            return
        if known.over and seated and rng.random() < 0.2:
            await self.command(link, rng.choice(["resign", "abort"]), room)
            return
        commands: list[Callable[[], object]] = [
            lambda: self.command(
                link, "chat", room, text=f"{self.name} {len(self.sent)}", to=rng.choice(AUDIENCES)
            ),
            lambda: self.command(
                link, "move", room, ply=max(0, known.plies - 1), move=self._token(known)
            ),
            lambda: self.command(link, "move", room, ply=known.plies, move=self._token(known)),
            lambda: self.command(link, "move", room, ply=known.plies + 1, move=self._token(known)),
            lambda: self.command(
                link, "move", room, ply=known.plies, move=rng.choice(["", "zz", "\u202e", "9x9"])
            ),
            lambda: self.command(link, "sit", room, seat=rng.randrange(2)),
            lambda: self.command(
                link, rng.choice(["decline", "offer_draw", "accept", "claim"]), room
            ),
            lambda: self.command(link, "add_ai", room, seat=rng.randrange(2), level=1),
            lambda: self.ask(
                link, rng.choice(self.sent[-60:] or [{"t": "abort", "id": "x", "room": room}])
            ),
            lambda: self.command(
                link, rng.choice(["resign", "abort", "stand", *CLAIMS, "reclaim_seat"]), room
            ),
            lambda: self.join(link, room, rng.choice([0, known.v, max(1, known.v - 3)])),
            link.close,
        ]
        weights = [6, 4, 4, 2, 2, 1, 1, 1, 6, ENDS_WEIGHT, 2, 1]
        await rng.choices(commands, weights)[0]()  # type: ignore[misc]

    def _token(self, known: KnownRoom) -> str:
        """Returns a legal first move of this game, which may be illegal now."""
        fresh = new_referee(known.game, known.options)
        return self.rng.choice(fresh.moves())

    # --- the end

    def lagging_rooms(self, heads: dict[str, int]) -> list[str]:
        """Returns the rooms in which an open connection has not received every event yet."""
        open_links = [link for link in self.links if link is not None and link.open]
        return [
            room
            for link in open_links
            for room, known in link.rooms.items()
            if known.v < heads[room]
        ]


async def read_everything(url: str, rooms: list[str], history: History) -> None:
    """Records the final logs: the client READER joins every room and receives its whole log."""
    reader = LoadClient(READER, [url], history, 0)
    link = await reader.link(0)
    for room in rooms:
        await reader.join(link, room, 1)
    await link.close()
