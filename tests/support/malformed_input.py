"""Seeded malformed input for every layer: bytes, handshakes, frames and messages."""

import json
import random
from typing import Any

import msgspec

from server.commands import (
    Abort,
    AddAi,
    Chat,
    Create,
    Decline,
    Move,
    MySeat,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
    Stand,
)
from server.protocol import messages as wire
from server.protocol.codec import ProtocolError, format_message, parse_message
from tests.support.raw_websocket import BINARY, CLOSE, PING, PONG, TEXT, frame, handshake

Json = dict[str, Any]

#: An integer beyond 64 bits.
BIG = 10**30
#: Values of wrong types and at the limits, to put into fields.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 0.5, -0.0, 2**31, 2**53 - 1, 2**53, 2**63, 2**64, BIG, -BIG,
    "", " ", "0", "\0", "x", "x" * 36, "x" * 37, "x" * 5000, "../../etc/passwd",
    "'; DROP TABLE rooms; --", "%00", "\ud800", "\u202e", "🎲" * 9, "ai", "hello",
    [], [[]], [None], {}, {"t": "move"}, {"": ""}, [1, [2, [3, [4, [5, [6, [7, [8]]]]]]]],
)  # fmt: skip

#: Bytes to put in the place of a JSON value: invalid or unusual JSON.
RAW = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-",
    b"0x1",
    b"01",
    b"'x'",
    b'"\\x"',
    b'"\\ud800"',
    b"9" * 400,
    b"undefined",
)


class MalformedInput:
    """A hostile client's input, reproducible by its seed; `rooms` are the rooms to disturb."""

    def __init__(self, seed: int, rooms: list[str]) -> None:
        self._random = random.Random(seed)
        self._rooms = rooms

    # --- messages

    def command(self) -> Json:
        """Returns a well-formed command, mostly for a room in which the client has no rights."""
        rng = self._random
        room = rng.choice([*self._rooms, *self._rooms, "abcdefghijkm", "x"])
        seat = rng.randrange(2)
        commands: list[wire.ClientFrame] = [
            wire.Hello(protocol=1),
            wire.Hello(protocol=1, token="x" * 43, name="Eve"),
            wire.Ping(id="p"),
            Create(id="c", game="chess-960"),
            Create(id="c", game="tic-tac-toe", options={"size": "9"}),
            Create(id="c", game="sticks", seats=(MySeat(), MySeat())),
            wire.Join(id="j", room=room),
            wire.Join(id="j", room=room, since=2**53 - 1, epoch="other"),
            wire.Leave(id="l", room=room),
            wire.CommandFrame(room, Sit(id="s", seat=seat)),
            wire.CommandFrame(room, Stand(id="s")),
            wire.CommandFrame(room, AddAi(id="a", seat=seat, level=1)),
            wire.CommandFrame(room, RemoveAi(id="r", seat=seat)),
            wire.CommandFrame(room, Move(id="m", ply=rng.randrange(4), move="b2")),
            wire.CommandFrame(room, Resign(id="r")),
            wire.CommandFrame(room, Abort(id="a")),
            wire.CommandFrame(room, Rematch(id="r")),
            wire.CommandFrame(room, Decline(id="d")),
            wire.CommandFrame(room, Chat(id="c", text=" \u202e\0")),
            wire.CommandFrame(room, Chat(id="c", text="x" * 401)),
            wire.WatchLobby(id="w"),
        ]
        fields: Json = json.loads(format_message(rng.choice(commands)))
        return fields

    def message(self) -> bytes:
        """Returns the payload of a text frame: a command, unchanged or mutated."""
        rng = self._random
        mutations = (
            self._unchanged,
            self._mutated_fields,
            self._mutated_bytes,
            self._raw_value,
            self._nested,
            self._not_an_object,
            self._extra_keys,
        )
        payload = rng.choices(mutations, (2, 6, 4, 2, 1, 1, 1))[0](self.command())
        return self._harmless(payload) if len(payload) <= wire.MAX_FRAME_BYTES else self.message()

    def _unchanged(self, command: Json) -> bytes:
        return _encode(command)

    def _mutated_fields(self, command: Json) -> bytes:
        """Removes fields, or gives them strange values or those of other commands."""
        rng = self._random
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            name = rng.choice([*command, "t", "id", "room", "seat", "kind"])
            if rng.random() < 0.2:
                command.pop(name, None)
            elif rng.random() < 0.2:
                command[name] = rng.choice(list(self.command().values()))
            else:
                command[name] = rng.choice(STRANGE)
        return _encode(command)

    def _mutated_bytes(self, command: Json) -> bytes:
        """Changes, removes or adds bytes; the result is UTF-8 (`bad_frames` has invalid UTF-8)."""
        rng = self._random
        data = bytearray(_encode(command))
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(data) + 1)
            match rng.randrange(4):
                case 0:
                    data[at : at + 1] = bytes([rng.choice(b'{}[]":,\\ 0azA\x00\x7f')])
                case 1:
                    del data[at : at + rng.randrange(1, 9)]
                case 2:
                    data[at:at] = data[: rng.randrange(len(data) + 1)]
                case _:
                    data[at:at] = bytes([rng.randrange(128)])
        return bytes(data)

    def _raw_value(self, command: Json) -> bytes:
        name = self._random.choice(list(command))
        command[name] = msgspec.Raw(self._random.choice(RAW))
        return _encode(command)

    def _nested(self, command: Json) -> bytes:
        """Nests values deeper than any message needs, sometimes without closing them."""
        rng = self._random
        depth = rng.choice((7, 8, 9, 10, 100, 1000, 4000))
        opening, closing = rng.choice(((b"[", b"]"), (b'{"x":', b"}")))
        depth = min(depth, 7000 // len(opening + closing))
        nested = opening * depth + b"0" + closing * rng.choice((depth, depth, depth - 1, 0))
        if rng.random() < 0.5:
            return nested
        return _encode(command)[:-1] + b',"x":' + nested + b"}"

    def _not_an_object(self, command: Json) -> bytes:
        rng = self._random
        whole = _encode(command)
        return rng.choice(
            (b"", b" ", b"null", b"0", b'"hello"', b"[" + whole + b"]", whole + whole, *RAW)
        )

    def _extra_keys(self, command: Json) -> bytes:
        """Adds a second copy of a key, hundreds of keys, or unknown keys."""
        whole = _encode(command)
        more = self._random.choice(
            (
                whole[1:-1],
                b'"t":"ping"',
                b'"id":"2","id":"3"',
                b",".join(b'"k%d":0' % n for n in range(700)),
                b'"__proto__":{}',
            )
        )
        return whole[:-1] + b"," + more + b"}"

    def _harmless(self, payload: bytes) -> bytes:
        """Returns the payload, or empty chat instead of a line that these rooms would accept."""
        try:
            message = parse_message(payload)
        except ProtocolError:
            return payload
        if (
            isinstance(message, wire.CommandFrame)
            and isinstance(message.command, Chat)
            and message.room in self._rooms
        ):
            return _encode({"t": "chat", "id": "c", "room": message.room, "text": ""})
        return payload

    # --- frames

    def bad_frames(self) -> bytes:
        """Returns bytes after which the server must close the connection: mostly invalid frames."""
        rng = self._random
        text = _encode(self.command())
        return rng.choice(
            (
                lambda: frame(text, mask=False),
                lambda: frame(text, rsv=rng.randrange(1, 8)),
                lambda: frame(text, rng.choice((3, 4, 5, 6, 7, 11, 12, 13, 14, 15))),
                lambda: frame(b"\xff\xfe" + text),
                lambda: frame(text[:9] + b"\xc3", TEXT),
                lambda: frame(b'"\xed\xa0\x80"'),
                lambda: frame(b"x" * (wire.MAX_FRAME_BYTES + 1)),
                lambda: frame(b"x" * 70_000),
                lambda: frame(text, length=2**62),
                lambda: frame(text, length=2**64 - 1),
                lambda: b"".join(
                    frame(b"x" * 999, TEXT if n == 0 else 0, fin=False) for n in range(10)
                ),
                lambda: frame(text, 0),
                lambda: frame(text, fin=False) + frame(text),
                lambda: frame(b"x" * 126, PING),
                lambda: frame(b"x", PING, fin=False),
                lambda: frame(b"\x03", CLOSE),
                lambda: frame(b"\x00\x00", CLOSE),
                lambda: frame(b"\x03\xe8\xff\xff", CLOSE),
                lambda: frame(b"", CLOSE),
                lambda: b"\xff" + rng.randbytes(rng.randrange(20, 400)),
            )
        )()

    def odd_frames(self) -> bytes:
        """Returns valid but rare frames: fragments around pings, unsolicited pongs, binary."""
        rng = self._random
        text = _encode({"t": "ping", "id": "p"})
        at = rng.randrange(len(text))
        return rng.choice(
            (
                frame(text[:at], fin=False) + frame(b"!", PING) + frame(text[at:], 0),
                b"".join(
                    frame(text[n : n + 1], 0 if n else TEXT, fin=n == len(text) - 1)
                    for n in range(len(text))
                ),
                frame(b"", PONG) + frame(text),
                frame(text, BINARY),
                frame(b"", TEXT, fin=False) + frame(b"", 0, fin=False) + frame(text, 0),
            )
        )

    # --- connections

    def greeting(self) -> bytes:
        """Returns the first bytes of a connection: often a malformed handshake, or other bytes."""
        rng = self._random
        host = rng.choice(
            (
                "127.0.0.1",
                "localhost",
                "[::1",
                "[",
                "",
                "evil.example",
                "x" * 300,
                "127.0.0.1:99999",
                "\udcff",
            )
        )
        path = rng.choice(
            (
                "/ws",
                "/ws",
                "/",
                "/ws?x=" + "y" * 999,
                "//ws",
                "/ws/../ws",
                "/%00",
                "*",
                "ws",
                "http://x/ws",
            )
        )
        odd_header = rng.choice(
            (
                "Origin: http://evil.example",
                "Origin: null",
                "Origin: http://[",
                "Origin: " + "x" * 5000,
                "Origin: \udcff",
                "Cookie: plyroom=" + "x" * 4000,
                "Cookie: =;;=",
                "Cookie: plyroom=\udcff",
                'Cookie: plyroom="\\',
                "Cookie: a[]=1; plyroom=x; plyroom_00c0ffee=\udcff",
                "Upgrade: h2c",
                "Connection: close",
                "Sec-WebSocket-Version: 8",
                "Sec-WebSocket-Key: x",
                'Sec-WebSocket-Extensions: permessage-deflate; x="',
                "Content-Length: 5",
                "Content-Length: -1",
                "Transfer-Encoding: chunked",
                "Expect: 100-continue",
                "Host: again",
                ": x",
                "x",
                "\0: \0",
            )
        )
        shake = handshake(host, odd_header, path=path)
        return rng.choice(
            (
                lambda: shake,
                lambda: shake,
                lambda: shake.replace(b"GET", rng.choice((b"POST", b"get", b"G\0T", b"", b"PRI"))),
                lambda: shake.replace(
                    b"HTTP/1.1", rng.choice((b"HTTP/1.0", b"HTTP/9.9", b"HTTQ/1.1", b""))
                ),
                lambda: shake.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\r\n\r\n"))),
                lambda: shake[: rng.randrange(len(shake))],
                lambda: self._with_changed_bytes(shake),
                lambda: shake.replace(b": websocket", rng.choice((b": WebSocket, h2c", b":", b""))),
                lambda: rng.randbytes(rng.randrange(1, 3000)),
                lambda: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500),
                lambda: b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 40_000,
                lambda: _request("POST /api/guest", "Content-Length: 99999999") + b"{",
                lambda: _request("POST /api/guest", "Transfer-Encoding: chunked") + b"zz\r\n",
                lambda: _request("POST /api/guest", "Content-Length: 4000") + b"[" * 4000,
                lambda: _request(
                    "GET /api/matches?limit=" + rng.choice(("-1", "x", "9" * 99, "%ff"))
                ),
                lambda: _request(
                    "GET /api/matches?before=" + rng.choice(("1", "-", "9" * 15 + "-", "%00-%00"))
                ),
                lambda: _request(
                    "GET /api/matches/" + rng.choice(("x", "%00", "%2e%2e", "x" * 3000))
                ),
                lambda: _request("GET /static/../../server/app.py"),
                lambda: _request("GET /livez") + shake,
                lambda: b"\r\n\r\n",
                lambda: b"\0" * 1000,
            )
        )()

    def _with_changed_bytes(self, data: bytes) -> bytes:
        """Returns the data with three random bytes changed."""
        changed = bytearray(data)
        for _ in range(3):
            changed[self._random.randrange(len(changed))] = self._random.randrange(256)
        return bytes(changed)


def _request(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def _encode(command: Json) -> bytes:
    """Encodes a command in ASCII, with raw values as they are and lone surrogates escaped."""
    parts = (
        json.dumps(name).encode() + b":" + _encode_value(value) for name, value in command.items()
    )
    return b"{" + b",".join(parts) + b"}"


def _encode_value(value: Any) -> bytes:
    return bytes(value) if isinstance(value, msgspec.Raw) else json.dumps(value).encode()
