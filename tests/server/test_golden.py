"""Data of earlier versions stays readable: names in the code change, bytes do not."""

import json
import shutil
import sqlite3
import urllib.request
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
import websockets
from click.testing import CliRunner

from client.connection import Connection, connect
from client.model import Model, apply
from server.bus import work
from server.bus.codec import Codec
from server.commands import Move
from server.ops import admin
from server.protocol.messages import CommandFrame
from tests.support.server_process import NO_RATE_LIMITS, serving

GOLDEN = Path(__file__).parents[1] / "data/golden"
#: What clients of an earlier version received, by kind: messages, matches, records, views.
SEEN = json.loads((GOLDEN / "seen.json").read_text())
#: Messages between nodes and workers of an earlier version.
BUS = json.loads((GOLDEN / "bus.json").read_text())
#: The bot's private answers between nodes, which came later.
ANSWERS = json.loads((GOLDEN / "answers.json").read_text())
#: The games of the earlier version.
GAMES = [name.removeprefix("running ") for name in SEEN["rooms"] if name.startswith("running ")]
#: Fields that depend on the version and not on the match: levels of a game, labels of a board.
VERSION_FIELDS = {"labels", "levels"}


def contains(old: Any, new: Any) -> bool:
    """Returns whether the new message has all fields of the old one; it may have more."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(
            key in VERSION_FIELDS or (key in new and contains(value, new[key]))
            for key, value in old.items()
        )
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(contains, old, new))
    return bool(old == new)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(GOLDEN / "plyroom.sqlite3", folder)
    return folder


async def receive_as_spectator(url: str) -> dict[str, list[dict[str, Any]]]:
    """Returns the messages that a spectator of each room receives."""
    received: dict[str, list[dict[str, Any]]] = {}
    async with websockets.connect(f"{url.replace('http', 'ws')}/ws") as socket:
        await socket.send(json.dumps({"t": "hello", "protocol": 1, "token": SEEN["tokens"]["cyd"]}))
        await socket.recv()
        for name, room in SEEN["rooms"].items():
            await socket.send(json.dumps({"t": "join", "id": "j", "room": room}))
            received[name] = []
            while (message := json.loads(await socket.recv()))["t"] != "presence" or message[
                "room"
            ] != room:
                if message.get("room") == room and message["t"] not in ("ack", "thinking"):
                    received[name].append(message)
            await socket.send(json.dumps({"t": "leave", "id": "l", "room": room}))
    return received


async def play_next_move(player: Connection, game_id: str) -> bool:
    """Plays a move in the running match if it is this player's turn; returns whether it was."""
    room = SEEN["rooms"][f"running {game_id}"]
    async with aclosing(player.follow(room)) as messages:
        model = Model(room=room, me=player.identity)
        while not model.present:
            model = apply(model, await anext(messages))
    assert model.frozen is None
    if model.moves:
        await player.command(
            CommandFrame(room, Move(id=player.new_id(), ply=model.ply, move=model.moves[0].id))
        )
    return bool(model.moves)


def fetch(url: str) -> Any:
    """Returns the JSON body of a response."""
    with urllib.request.urlopen(url) as answer:
        return json.loads(answer.read())


def verify_store(data: Path) -> dict[str, Any]:
    """Migrates a store; returns the report of `plyroom verify`."""
    assert CliRunner().invoke(admin.main, ["migrate", "--data", str(data)]).exit_code == 0
    result = CliRunner().invoke(admin.main, ["verify", "--json", "--data", str(data)])
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


async def test_rooms_and_matches_are_unchanged_and_continue(data: Path) -> None:
    """Snapshots, boards, replays and lists are unchanged; a running match accepts its next move."""
    async with serving(data, **NO_RATE_LIMITS) as server:
        received = await receive_as_spectator(server.url)
        for name, messages in SEEN["joined"].items():
            assert contains(messages, received[name]), name
        with_moves = [match for match in SEEN["matches"]["matches"] if match["plies"]]
        listed = {**SEEN["matches"], "matches": with_moves}  # a match without a move is no replay
        assert contains(listed, fetch(f"{server.url}/api/matches?limit=100"))
        for match, record in SEEN["records"].items():
            assert contains(record, fetch(f"{server.url}/api/matches/{match}"))
            assert contains(
                SEEN["views"][match], fetch(f"{server.url}/api/matches/{match}/views?from=0&to=8")
            )
        tokens = SEEN["tokens"]
        async with (
            connect(server.url, tokens["ada"]) as ada,
            connect(server.url, tokens["ben"]) as ben,
        ):
            moved = [
                game_id
                for game_id in GAMES
                for player in (ada, ben)
                if await play_next_move(player, game_id)
            ]
        assert moved == [game_id for game_id in GAMES if game_id != "sticks"], (
            "the match of sticks was over"
        )
        assert await server.stop() == 0


def test_an_old_store_verifies(data: Path) -> None:
    """Every event, position and row of the old store is consistent."""
    report = verify_store(data)
    assert (report["rooms"], report["events"], report["problems"]) == (24, 253, 0)


def test_lobby_entries_without_a_length_verify(data: Path) -> None:
    """64109ab and earlier wrote no length into the lobby's entries. That is no problem."""
    with closing(sqlite3.connect(data / "plyroom.sqlite3")) as store, store:
        rooms = store.execute("SELECT id, summary FROM rooms").fetchall()
        entries = {room: json.loads(summary) for room, summary in rooms}
        assert sum("length" in entry for entry in entries.values()) == 8
        for room, entry in entries.items():
            entry.pop("length", None)
            body = json.dumps(entry).encode()
            store.execute("UPDATE rooms SET summary = ? WHERE id = ?", (body, room))
    assert verify_store(data)["problems"] == 0


def test_an_old_backup_restores(tmp_path: Path) -> None:
    """An old backup restores to a consistent store with the same content."""
    restored = tmp_path / "restored"
    result = CliRunner().invoke(
        admin.main, ["restore", "--data", str(restored), str(GOLDEN / "plyroom.backup")]
    )
    assert result.exit_code == 0, result.output
    report = verify_store(restored)
    assert (report["rooms"], report["events"], report["problems"]) == (24, 253, 0)


@pytest.mark.parametrize("sample", BUS["bus"] + ANSWERS["bus"], ids=lambda sample: sample["is"])
def test_messages_between_nodes(sample: dict[str, str]) -> None:
    """Messages between nodes are read, and written unchanged.

    So nodes of two versions can communicate during an upgrade.
    """
    codec = Codec(BUS["key"].encode())
    message = codec.decode(sample["topic"], sample["payload"].encode())
    written = codec.encode(message)
    assert (written.topic, written.payload.decode()) == (sample["topic"], sample["payload"])


@pytest.mark.parametrize("sample", BUS["work"], ids=lambda sample: sample["is"])
def test_messages_to_and_from_workers(sample: dict[str, str]) -> None:
    """Messages to and from workers are readable and written unchanged."""
    payload = sample["payload"].encode()
    if sample["is"] == "Advert":
        message: Any = work.parse_advert(BUS["topics"]["worker"], payload)
    elif sample["is"] in ("Search", "Stop", "Expect"):
        message = work.parse_command(payload)
    else:
        message = work.parse_worker_message(payload)
    assert work.encode(message) == payload


def test_topics_of_workers() -> None:
    """The workers' topics are unchanged."""
    assert BUS["topics"] == {
        "worker": work.worker_topic("w1"), "order": work.commands_topic("w1"),
        "news": work.answers_topic("n1"),
    }  # fmt: skip
