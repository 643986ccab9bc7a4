"""Exports over HTTP: what a file has is what was played, and nothing that is private."""

import asyncio
import dataclasses
import json
import os
import re
import shutil
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import psutil
import pytest
import structlog
from click.testing import CliRunner, Result
from msgspec.json import encode
from msgspec.structs import replace
from sqlalchemy import select, text, update

from client.cli import main
from engine.formats.json_lines import format_json_line, parse_json_lines
from engine.formats.pgn import format_pgn
from engine.formats.read.files import read_games
from engine.formats.record import GameRecord, Over
from engine.formats.registry import FORMATS
from engine.game import Game, UnknownGame
from engine.rules.registry import load_game
from engine.study_pool.pool import StudyPool
from server.commands import AiSeat, MySeat, OpenSeat, Resign
from server.events import (
    AiTookOver,
    KnownEvent,
    Moved,
    Occupant,
    Player,
    PlayerReturned,
    Started,
    TookBack,
    format_event_body,
)
from server.export_process import ExportPool, write_in_time
from server.exports import (
    Pace,
    RecordBuilder,
    Slice,
    SliceText,
    read_slice,
    with_thoughts,
    write_slice,
)
from server.ids import MatchId, RoomId
from server.ops.admin import main as admin
from server.ports import (
    ExporterDied,
    ExporterHung,
    ExporterUnavailable,
    ExportFault,
    NoExporter,
)
from server.protocol.codes import Code
from server.settings import Settings
from server.store import schema
from server.store import tables as t
from server.store.base import (
    StoredEvent,
    StoredMatch,
    StoreReadOnly,
    StoreUnavailable,
    Thought,
)
from server.store.location import DATABASE_FILE, read_store
from server.store.match_filter import MatchFilter
from server.store.sql import SqlStore
from server.web import export
from server.web.connection import HttpConnection
from tests.server.test_api import get, matches, refusal
from tests.support.databases import KINDS, SqliteDatabase, empty_database, play_matches
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.log_entries import new_room
from tests.support.node import Http, Node, serve

#: The ids of all matches.
MATCHES = select(t.matches.c.id)


async def chunked(http: Http, target: str) -> bytes:
    """The body of an answer that is sent in chunks, up to the last one."""
    response = await http.request(target)
    assert response.status == 200, response
    body = b""
    while size := int(await http.reader.readline(), 16):
        body += (await http.reader.readexactly(size + 2))[:-2]
    await http.reader.readline()
    return body


async def exported(node: Node, query: str = "") -> list[GameRecord]:
    """The records of a list, read from its lines."""
    async with node.http() as http:
        body = await chunked(http, f"/api/export{query}")
    records = [each for each in parse_json_lines([body], load_game) if isinstance(each, GameRecord)]
    assert len(records) == body.count(b"\n")
    return records


async def test_a_match_is_exported_as_it_was_played() -> None:
    """A file has the players, the moves and the result, by a name that says what it is."""
    async with matches(2) as (node, room, ids):
        answer = await node.get(f"/api/matches/{ids[1]}/export?format=jsonl")
        (record,) = parse_json_lines([answer.body], load_game)
        assert isinstance(record, GameRecord)
        stored = await get(node, f"/api/matches/{ids[1]}")
        assert [move.token for move in record.moves] == [move["move"] for move in stored["moves"]]
        assert [move.spent_ms for move in record.moves] == stored["spent_ms"]
        assert [seat.name for seat in record.seats] == [seat["name"] for seat in stored["seats"]]
        assert (record.match, record.start, record.over.winner) == (ids[1], stored["start"], 0)  # type: ignore[union-attr]
        assert (record.started_ms, record.finished_ms) == (
            stored["started_ms"], stored["finished_ms"],
        )  # fmt: skip
        assert "identity" not in answer.body.decode()
        assert room not in answer.body.decode()
        text = (await node.get(f"/api/matches/{ids[1]}/export")).body.decode()
        assert text.startswith('[Event "Plyroom match"]\n[Site "http://')
        moves = re.sub(r"\{\[%emt [\d:.]+\]", "{", text.partition("\n\n")[2])
        assert "".join(moves.split()) == "1.a1{}1...b1{}2.a2{}2...b2{}3.a3{threeinarow}1-0"
        names = "-".join(seat.name for seat in record.seats)
        disposition = answer.headers["content-disposition"]
        assert disposition.startswith(f'attachment; filename="tic-tac-toe-{names}-')
        assert ".jsonl" in disposition
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["content-type"] == "application/jsonl; charset=utf-8"


async def test_a_running_match_has_the_moves_so_far() -> None:
    """A running match is exported without a result, and the list does not have it."""
    async with matches(1) as (node, room, ids):
        ben = Client(node.hub, "ben")
        await ben.ack(ben.move(room, 0, "b2"))
        answer = await node.get(f"/api/matches/{ids[1]}/export?format=jsonl")
        line = json.loads(answer.body)
        assert (line["moves"], line["over"]) == (["b2"], None)
        text = (await node.get(f"/api/matches/{ids[1]}/export?format=pgn")).body.decode()
        assert '[Result "*"]' in text
        assert '[Termination "unterminated"]' in text
        assert [record.match for record in await exported(node)] == ids[:1]


async def test_a_head_request_reads_no_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request for the head of a list is answered without its matches."""
    monkeypatch.setattr("server.web.export.Exports._write_slice", None)
    async with matches(1) as (node, _, _), node.http() as http:
        http.writer.write(f"HEAD /api/export HTTP/1.1\r\nHost: {node.host}\r\n\r\n".encode())
        head = (await http.reader.readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 200 OK")
        assert 'filename="plyroom-matches.jsonl"' in head
        assert (await http.request("/livez")).status == 200


async def test_wrong_requests_are_refused_in_words() -> None:
    """An unknown match, an unknown format, and one of another game are refused."""
    async with matches() as (node, _, ids):
        base = f"/api/matches/{ids[0]}/export"
        assert await refusal(node, "/api/matches/none/export") == (404, Code.MATCH_UNKNOWN)
        for target in (f"{base}?format=xml", f"{base}?format=sgf", "/api/export?format=pdn",
                       "/api/export?max=0", "/api/export?format=sgf&game=chess"):  # fmt: skip
            assert await refusal(node, target) == (400, Code.MESSAGE_MALFORMED), target
        answer = await node.get("/api/export?format=sgf")
        assert answer.json["message"] == (
            "the format sgf is for some games only: game=gomoku or game=othello or game=hex"
        )


async def test_an_unlisted_match_is_exported_by_its_id_only() -> None:
    """A list has no match of an unlisted room; whoever has its id may read it, without chat."""
    async with serve() as node:
        ada, ben = Client(node.hub, "ada"), Client(node.hub, "ben")
        room = await ada.create(visibility="unlisted")
        await ada.ack(ada.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.chat(room, "between us"))
        await ada.ack(ada.move(room, 0, "a1"))
        await ben.ack(ben.plain(Resign, room))
        (match,) = [m["match"] for m in ada.messages if m.get("kind") == "started"]
        assert await exported(node) == []
        for name in ("jsonl", "pgn"):
            answer = await node.get(f"/api/matches/{match}/export?format={name}")
            assert answer.status == 200
            assert b"resign" in answer.body
            assert b"between us" not in answer.body


async def test_a_match_of_a_removed_game_is_exported() -> None:
    """Without its rules a match of tokens has its file; a list keeps it."""
    is_removed = False

    def find(game_id: str) -> Game:
        if is_removed:
            raise UnknownGame(f"there is no game {game_id}")
        return load_game(game_id)

    async with matches(fake=FakeServer(find_game=find)) as (node, _, ids):
        is_removed = True
        answer = await node.get(f"/api/matches/{ids[0]}/export?format=pgn")
        assert b'[Game "tic-tac-toe"]' in answer.body
        assert len(await exported(node)) == 1


async def test_thoughts_are_exported_to_those_who_may_see_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file has the AI's searches where the match shows them, and none while it withholds them."""
    async with serve() as node:
        ada = Client(node.hub, "ada")
        room = await ada.create(seats=(AiSeat(level=1), AiSeat(level=1)))
        await ada.ack(ada.join(room))
        while not (await get(node, "/api/matches"))["matches"]:
            pass
        (record,) = await exported(node)
        stored = await get(node, f"/api/matches/{record.match}")
        assert record.thoughts == stored["thoughts"]
        assert set(record.thoughts) == {str(ply) for ply in range(len(record.moves))}
        assert [seat.level for seat in record.seats] == [1, 1]

        monkeypatch.setattr("server.web.thoughts.Thoughts.reason_to_withhold", _withhold)
        answer = await node.get(f"/api/matches/{record.match}/export?format=jsonl")
        assert "thoughts" not in json.loads(answer.body)


async def _withhold(*_: Any) -> str:
    return "not yet"


async def test_a_list_is_made_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices make the same file as one answer, filtered and cut."""
    async with matches(5) as (node, _, ids):
        plain = await exported(node)
        assert [record.match for record in plain] == ids[4::-1]
        monkeypatch.setattr("server.exports.SLICE_ROWS", 12)
        for page in (1, 2, 3):
            monkeypatch.setattr("server.exports.MATCH_PAGE", page)
            assert await exported(node) == plain
            assert [record.match for record in await exported(node, "?max=3")] == ids[4:1:-1]
        with monkeypatch.context() as change:
            change.setattr("server.exports.SLICE_S", 0)  # a slice ends after each match
            assert await exported(node) == plain
            assert [record.match for record in await exported(node, "?max=3")] == ids[4:1:-1]
        assert await exported(node, "?game=chess") == []
        assert [r.match for r in await exported(node, "?player=ada&result=won")] == [
            r.match for r in plain if r.seats[0].name == plain[-1].seats[0].name
        ]
        async with node.http() as http:
            body = await chunked(http, "/api/export?format=pgn")
        assert body.count(b"[Event ") == 5
        async with StudyPool(1) as pool:  # which writes single matches
            node.fake.studies = pool
            async with serve(node.fake, "n2") as other:
                path = f"/api/matches/{ids[0]}/export?format=jsonl"
                (record,) = parse_json_lines([(await other.get(path)).body], load_game)
                assert isinstance(record, GameRecord)
                # The two nodes have different addresses in the tag Site.
                assert replace(record, tags={}) == replace(plain[-1], tags={})


@pytest.mark.parametrize("kind", KINDS)
async def test_the_process_for_exports_writes_what_the_server_would(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The process reads either database, at low priority; the next one works after its death, and
    it after a caller that left. A match whose rules take too long is refused.
    """
    async with empty_database(kind, request, "plyroom") as database:
        async with database.open() as store:
            await play_matches(store)
            await play_by_clock(store)
            settings = Settings(
                data=database.path.parent if isinstance(database, SqliteDatabase) else tmp_path,
                database=getattr(database, "url", ""),
            )
            part = Slice("jsonl", MatchFilter(), 1, "http://a/match/")
            async with ExportPool(settings) as pool:
                for chosen in ("jsonl", "pgn"):
                    first = replace(part, format=chosen, maximum=100)
                    wanted = await whole_text(
                        lambda rest: write_slice(store, rest, load_game, pace=Pace(1)), first
                    )
                    assert wanted[0].count(b"http://a/match/") > 1
                    assert wanted == await whole_text(
                        lambda rest: pool.write_slice(rest, "ada"), first
                    )
                (pid,) = pool.pids
                nice = psutil.Process(pid).nice()
                assert nice >= 10
                group = Path(f"/proc/{pid}/autogroup")
                if group.exists():  # there, the niceness of the session is what counts
                    assert group.read_text().endswith(f" nice {nice}\n")
                os.kill(pid, signal.SIGKILL)
                with pytest.raises(ExporterDied, match="Error"):
                    await pool.write_slice(part, "ada")
                leaver = asyncio.create_task(pool.write_slice(part, "ada"))
                while not pool.load().running:
                    await asyncio.sleep(0)
                leaver.cancel()
                assert (await pool.write_slice(part, "ada")).text
                assert (len(pool.pids), pool.killed_count) == (1, 1)
            async with ExportPool(dataclasses.replace(settings, study_s=1e-6)) as pool:
                slow = await pool.write_slice(replace(part, format="pgn"), "ada")
                assert slow.refused[0][1] == "it takes more than 1e-06 s"
                assert slow.text.startswith(b"% match ")
        with pytest.raises(ExporterUnavailable):
            await pool.write_slice(part, "ada")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_process_for_exports_changes_no_database(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its store takes no write; a database that is missing, damaged, of another schema or unused
    fails in words, as a store or as a fault with the match, and stays as it is.
    """
    part = Slice("jsonl", MatchFilter(), 1)
    async with empty_database(kind, request, "plyroom") as database:
        if isinstance(database, SqliteDatabase):
            settings = Settings(data=database.path.parent)
        else:  # as an operator may give it: the rest of the address is in the environment
            url = urlsplit(getattr(database, "url", ""))
            for name, value in (("HOST", url.hostname), ("PORT", url.port),
                                ("USER", url.username), ("PASSWORD", url.password)):  # fmt: skip
                monkeypatch.setenv(f"PG{name}", unquote(str(value or "")))
            monkeypatch.chdir(tmp_path)
            settings = Settings(data=tmp_path, database=f"postgresql://{url.path}")
        async with ExportPool(settings) as pool:
            with pytest.raises(StoreUnavailable, match="no server has used"):
                await pool.write_slice(part, "ada")
            async with database.open() as store:
                await play_matches(store)
            async with read_store(settings) as reader:
                assert reader.epoch == store.epoch
                with pytest.raises(StoreReadOnly):
                    await reader.logs.create_room(new_room("r1"))
                with pytest.raises(StoreReadOnly):
                    await reader.projections.mark_rooms_followed(["r1"], 1)
            assert (await pool.write_slice(part, "ada")).rest is None
            (pid,) = pool.pids
            if kind == "postgres":
                assert psutil.Process(pid).cwd() == str(tmp_path)
                count = text("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle' AND"
                             " application_name = 'plyroom'")  # fmt: skip
                assert await database.run(lambda c: c.execute(count).scalar()) == 1
            await database.run(lambda c: c.execute(update(t.events).values(body=b'{"kind":7}')))
            with pytest.raises(ExportFault, match=r"(?s)Traceback .*ValidationError.*in match "):
                await pool.write_slice(part, "ada")
            set_version = "UPDATE alembic_version SET version_num = '{}'"
            await database.run(lambda c: c.execute(text(set_version.format("0001"))))
            with pytest.raises(StoreUnavailable, match="plyroom migrate"):
                await pool.write_slice(part, "ada")
            assert await database.run(schema.revision_of) == "0001"
            assert pool.pids == []
            # The next test may get the database, without its rows.
            await database.run(lambda c: c.execute(text(set_version.format(schema.HEAD))))
    if kind == "sqlite":
        for content in (None, b"no database at all " * 100):
            folder = tmp_path / str(content is None)
            folder.mkdir()
            if content is not None:
                (folder / DATABASE_FILE).write_bytes(content)
            async with ExportPool(Settings(data=folder)) as pool:
                with pytest.raises(StoreUnavailable, match="cannot use the database"):
                    await pool.write_slice(part, "ada")
            assert len(list(folder.iterdir())) == (content is not None)


def test_rules_that_do_not_return_lose_their_match_only() -> None:
    """A game that takes more than its time is refused, and the next one is written."""

    def hang(*_: Any) -> str:
        while True:
            pass

    record = RecordBuilder(MATCH).build().record
    for _ in range(2):
        written = write_in_time(
            replace(FORMATS["pgn"], format_game=hang), record, load_game, seconds=0.01
        )
        assert (written.match, written.refused) == ("m", "it takes more than 0.01 s")
    assert write_in_time(FORMATS["pgn"], record, load_game, seconds=30).text


@pytest.mark.parametrize(
    ("errors", "status", "code"),
    [
        ([ExporterDied("killed")], 200, ""),
        ([ExporterDied("killed")] * 2, 503, Code.STUDY_BUSY),
        ([ExporterHung("no answer")], 503, Code.STUDY_BUSY),
        ([StoreUnavailable("down")], 503, Code.STORE_RETRY),
        ([ExportFault("Traceback …\nin match m7")], 500, Code.SERVER_FAULT),
    ],
)
async def test_a_failure_of_the_process_is_told_as_what_it_is(
    errors: list[Exception], status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a process that died is replaced, once; the log has the traceback of a fault."""
    left = list(errors)

    async def write(self: Any, part: Slice, address: str) -> Any:
        raise left.pop(0) if left else ExporterUnavailable

    monkeypatch.setattr(NoExporter, "write_slice", write)
    async with matches(1) as (node, _, ids):
        if not code:
            assert [record.match for record in await exported(node)] == ids[:1]
            return
        with structlog.testing.capture_logs() as logs:
            assert await refusal(node, "/api/export") == (status, code)
        assert left == []
        is_fault = code == Code.SERVER_FAULT
        assert any("in match m7" in str(line) for line in logs) == is_fault


async def test_matches_that_ended_at_once_come_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """No match is left out or comes twice where pages end among matches of the same millisecond."""
    monkeypatch.setattr("server.exports.MATCH_PAGE", 2)
    fake = FakeServer()
    monkeypatch.setattr(fake, "now_ms", lambda: 1_700_000_000_000)
    async with matches(5, fake=fake) as (node, _, ids):
        found = [record.match for record in await exported(node)]
        assert sorted(found) == sorted(ids[:5])


async def test_a_client_that_leaves_ends_its_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the client of a list is killed in mid-stream, no task of it stays and its place is free;
    meanwhile an address has only so many lists.
    """
    monkeypatch.setattr("server.exports.SLICE_ROWS", 1)
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()
    write = export.Exports._write_slice

    async def slow(self: Any, part: Any, address: str) -> Any:
        begun.release()
        await go_on.wait()
        return await write(self, part, address)

    async with matches(3) as (node, _, _):
        before = asyncio.all_tasks()
        monkeypatch.setattr(export.Exports, "_write_slice", slow)
        clients = []
        for _ in range(export.ADDRESS_LISTS):
            clients.append(await asyncio.open_connection("127.0.0.1", node.running.port))
            request = f"GET /api/export HTTP/1.1\r\nHost: {node.host}\r\n\r\n"
            clients[-1][1].write(request.encode())
            await begun.acquire()
        assert await refusal(node, "/api/export") == (429, Code.RATE_EXCEEDED)
        for _, writer in clients:
            writer.transport.abort()
        go_on.set()
        while asyncio.all_tasks() - before:
            await asyncio.sleep(0)
        monkeypatch.setattr(export.Exports, "_write_slice", write)
        assert len(await exported(node)) == 3


async def test_an_export_that_fails_in_mid_stream_is_no_whole_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When the store fails after the first slice, the connection ends before the last chunk."""
    monkeypatch.setattr("server.exports.SLICE_ROWS", 1)
    write = export.Exports._write_slice
    count = 0

    async def failing(self: Any, part: Any, address: str) -> Any:
        nonlocal count
        count += 1
        if count == 2:
            node.fake.store.fail("events")
        return await write(self, part, address)

    async with matches(4) as (node, _, _):
        monkeypatch.setattr(export.Exports, "_write_slice", failing)
        async with node.http() as http:
            http.writer.write(f"GET /api/export HTTP/1.1\r\nHost: {node.host}\r\n\r\n".encode())
            content = await http.read_to_end()
        assert content.startswith(b"HTTP/1.1 200 OK")
        assert not content.endswith(b"0\r\n\r\n")


class SlowTransport(asyncio.Transport):
    """A transport whose client reads a part of what is written between two looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.unsent_bytes, self.is_aborted = 0, False

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def abort(self) -> None:
        self.is_aborted = True


def test_a_slow_reader_of_a_long_answer_is_not_aborted() -> None:
    """While a client reads, its buffer may be as full at each look; it is stuck when it reads no
    more.
    """
    transport = SlowTransport()
    writer = SimpleNamespace(output_size=0)
    connection: Any = SimpleNamespace(
        _raw_transport=transport, _request_count=1, _previous_sweep=(0, 0, 0),
        _current_request=SimpleNamespace(writer=writer),
    )  # fmt: skip
    for _ in range(3):
        writer.output_size += 50_000
        transport.unsent_bytes = 64 * 1024
        HttpConnection.abort_if_stuck(connection)
        assert not transport.is_aborted
    HttpConnection.abort_if_stuck(connection)
    assert transport.is_aborted


# --- in other pages


async def test_a_frame_shows_a_public_match_only() -> None:
    """A frame of any page may show a public match, without a cookie; for an unlisted or unknown one
    it says so with 404 and loads nothing more.
    """
    async with matches(1) as (node, _, ids):
        answer = await node.get(f"/embed/match/{ids[0]}")
        assert answer.status == 200
        assert b"/embed-match.js" in answer.body
        assert "frame-ancestors *" in answer.headers["content-security-policy"]
        assert "set-cookie" not in answer.headers
        ada, ben = Client(node.hub, "ada"), Client(node.hub, "ben")
        room = await ada.create(visibility="unlisted")
        await ada.ack(ada.join(room))
        await ben.ack(ben.sit(room, 1))
        unlisted = [m["match"] for m in ada.messages if m.get("kind") == "started"][-1]
        for match in (unlisted, "none"):
            answer = await node.get(f"/embed/match/{match}")
            assert answer.status == 404
            assert b"<script" not in answer.body
            assert b"it is unlisted, or does not exist" in answer.body
            assert b"Tic-tac-toe" not in answer.body
            url = quote(f"http://{node.host}/match/{match}")
            assert await refusal(node, f"/api/oembed?url={url}") == (404, Code.MATCH_UNKNOWN)


async def test_programs_find_the_frame_of_a_match() -> None:
    """The page of a match names its oEmbed answer, which has the frame for an address of this
    server within the wanted size, and for no other address.
    """
    async with matches(1) as (node, _, ids):
        page = f"http://{node.host}/match/{ids[0]}"
        html = (await node.get(f"/match/{ids[0]}", Accept="text/html")).body.decode()
        (link,) = re.findall(r'type="application/json\+oembed"\s+href="([^"]+)"', html)
        assert link == f"http://{node.host}/api/oembed?url={quote(page, safe='')}"
        answer = await node.get(link.removeprefix(f"http://{node.host}"))
        assert answer.headers["access-control-allow-origin"] == "*"
        found = answer.json
        assert (found["version"], found["type"], found["width"]) == ("1.0", "rich", 480)
        assert f'<iframe src="http://{node.host}/embed/match/{ids[0]}" ' in found["html"]
        asked = quote(f"{page}?ply=3&flip=1&x=%22%3E")
        small = await get(node, f"/api/oembed?url={asked}&maxwidth=300&maxheight=250")
        assert (small["width"], small["height"]) == (300, 250)
        assert await get(node, f"/api/oembed?url=/match/{ids[0]}") == found
        assert f'/embed/match/{ids[0]}?ply=3&amp;flip=1" ' in small["html"]
        others = (
            "", "x", "http://other.test/match/id2", f"{page}/more", "http://[", "a" * 5000,
            f"ftp://{node.host}/match/{ids[0]}", f"http://{node.host}/room/id2",
            f"//other.test/match/{ids[0]}", f"/room/{ids[0]}",
        )  # fmt: skip
        for url in others:
            code = await refusal(node, f"/api/oembed?url={quote(url)}")
            assert code == (404, Code.MATCH_UNKNOWN), url
        assert (await refusal(node, f"{link[len(node.host) + 7 :]}&format=xml"))[0] == 501


# --- the command


async def plyroom(*arguments: str) -> Result:
    """Runs `plyroom export`."""
    return await asyncio.to_thread(CliRunner().invoke, main, ["export", *arguments])


async def test_the_command_writes_what_the_server_has(tmp_path: Path) -> None:
    """Matches by id or link, or the list, come to a file in the format of its suffix; a file that
    is not whole keeps the suffix .part.
    """
    async with matches(2) as (node, _, ids):
        url, file = f"http://{node.host}", tmp_path / "two.pgn"
        links = [f"{url}/match/{ids[0]}", ids[1]]
        assert (await plyroom(*links, "--url", url, "-o", str(file))).exit_code == 0
        assert file.read_text().count("[Event ") == 2
        result = await plyroom("--url", url, "--max", "1", "--since", "1970-01-01")
        (record,) = parse_json_lines([result.stdout_bytes], load_game)
        assert isinstance(record, GameRecord)
        assert record.match == ids[1]
        assert (await plyroom("--url", url, "--until", "1970-01-01")).stdout_bytes == b""
        result = await plyroom(ids[0], "none", "--url", url, "-o", str(tmp_path / "three.pgn"))
        assert (result.exit_code, result.stderr) == (1, "Error: there is no such match\n")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["three.pgn.part", "two.pgn"]


def test_the_command_reads_a_database(tmp_path: Path) -> None:
    """With --data the file has the matches of a database: the public ones, or all, or those named;
    those that the format cannot write are named.
    """
    shutil.copy(Path(__file__).parents[1] / "data/golden/plyroom.sqlite3", tmp_path)
    schema.upgrade_sqlite(tmp_path / "plyroom.sqlite3")
    run = partial(CliRunner().invoke, admin)
    base = ["export", "--data", str(tmp_path)]
    result = run([*base, "--unlisted"])
    records = [*parse_json_lines([result.stdout_bytes], load_game)]
    assert records
    assert len(records) == result.stdout_bytes.count(b"\n")
    games = {json.loads(line)["game"] for line in result.stdout_bytes.splitlines()}
    for game in games:
        text = run([*base, "--unlisted", "--game", game, "--format", "pgn"]).stdout
        assert text.count("[Event ") == result.stdout_bytes.count(b'"game":"%s"' % game.encode())
    result = run([*base, "--format", "sgf", "--game", "tic-tac-toe"])
    assert result.stdout_bytes == b""
    assert "sgf is not for tic-tac-toe" in result.stderr or "no such matches" in result.stderr
    result = run([*base, "none"])
    assert (result.exit_code, result.stderr) == (1, "Error: there is no match none\n")


async def whole_text(
    write: Callable[[Slice], Awaitable[SliceText]], part: Slice
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """The text of a slice and of all that follow, and the matches that the format cannot write.

    Where a slice ends depends on the time that it takes.
    """
    texts, refused = list[bytes](), list[tuple[str, str]]()
    rest: Slice | None = part
    while rest is not None:
        written = await write(rest)
        texts.append(written.text)
        refused += written.refused
        rest = written.rest
    return b"".join(texts), tuple(refused)


async def play_by_clock(store: SqlStore) -> None:
    """Plays a match with a clock, of five moves."""
    fake = FakeServer(store=store)
    for _ in range(100):
        fake.new_id()  # those of the other matches in the store
    async with fake.hub() as hub:
        players = ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=(MySeat(), OpenSeat()), clock="300+3")
        await ben.ack(ben.sit(room, 1))
        for ply, move in enumerate(["a1", "b1", "a2", "b2", "a3"]):
            await players[ply % 2].ack(players[ply % 2].move(room, ply, move))


@pytest.mark.parametrize("kind", KINDS)
async def test_the_command_reads_databases_of_both_kinds(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """SQLite and PostgreSQL have the matches of the server's list, and any other by its id:
    unlisted ones, those without a move and running ones.
    """
    async with empty_database(kind, request, "plyroom") as database:
        async with database.open() as store:
            await play_matches(store)
            await play_by_clock(store)
            part = Slice("jsonl", MatchFilter(), 100)
            exports, rest = await read_slice(store, part, pace=Pace(1))
            assert rest is None
            listed = list(map(with_thoughts, exports))

        async def run(*arguments: str) -> list[str]:
            where = (
                ("--data", str(database.path.parent))
                if isinstance(database, SqliteDatabase)
                else ("--database", getattr(database, "url", ""))
            )
            command = ["export", *arguments, *where]
            result = await asyncio.to_thread(CliRunner().invoke, admin, command)
            assert result.exit_code == 0, result.output
            return result.stdout.splitlines(keepends=True)

        assert await run() == list(map(format_json_line, listed))
        assert [record.tags.get("TimeControl") for record in listed] == ["300+3", None]
        assert all(
            303_000 >= (move.clock_ms or 0) + (move.spent_ms or 0) > 300_000
            for move in listed[0].moves[2:4]
        )
        assert await run("--game", "chess") == []
        ids = await database.run(lambda c: c.execute(MATCHES).scalars().all(), snapshot=True)
        found = {line["match"]: line for line in map(json.loads, await run(*ids))}
        assert found.keys() == set(ids)
        (half,) = [each for each in found.values() if each["game"] == "connect-four"]
        assert half["moves"] == ["d"]
        assert sum(each["over"] is None for each in found.values()) == 7


# --- the record of a log

ADA, AI = Occupant("ada", "Ada"), Occupant("ai", "AI level 4", "ai", 4)
MATCH = StoredMatch(
    MatchId("m"), RoomId("r"), "chess", 3, b"{}", b'[{"identity":"ada","name":"Ada"},'
    b'{"identity":"ben","name":"Ben"}]', "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "abc", 1, 1000, None, None, None, None,
)  # fmt: skip


def entries(*events: KnownEvent) -> list[StoredEvent]:
    """The log of these events, 1.5 s apart."""
    return [
        StoredEvent(v, 1000 + 1500 * (v - 1), 0, format_event_body(event))
        for v, event in enumerate(events, 2)
    ]


def moved(ply: int, move: str, text: str) -> Moved:
    return Moved("m", ply, ply % 2, move, "", text)


def test_a_match_that_an_ai_took_over_says_so() -> None:
    """Who plays on from where stands in comments, those before a takeback too; times are those of
    the moves that stayed, and chess has the values of searches for White.
    """
    kept = replace_kept(AI)
    builder = RecordBuilder(MATCH)
    builder.add(
        entries(
            moved(0, "e2e4", "e4"), moved(1, "e7e5", "e5"),
            AiTookOver("m", 0, 2, kept), moved(2, "g1f3", "Nf3"),
            TookBack("m", 1, 1, ""), moved(1, "c7c5", "c5"),
            AiTookOver("m", 0, 2, kept), moved(2, "d2d4", "d4"), PlayerReturned("m", 0, 3, ADA),
        )
    )  # fmt: skip
    thought = b'{"depth":9,"score":31,"pv":["d2d4"],"move":"d2d4"}'
    record = builder.build([Thought("m", 9, 2, thought), Thought("m", 5, 2, thought)]).record
    assert [move.text for move in record.moves] == ["e4", "c5", "d4"]
    assert [move.comment for move in record.moves] == [
        "", "AI level 4 plays on for Ada from here.", "Ada plays again from here.",
    ]  # fmt: skip
    assert [move.eval for move in record.moves] == [None, None, "0.31,9"]
    assert [move.spent_ms for move in record.moves] == [1500, 1500, 3000]


def replace_kept(occupant: Occupant) -> Occupant:
    return Occupant(
        occupant.identity, occupant.name, occupant.kind, occupant.level,
        kept_for=Player("ada", "Ada"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("over", "result", "termination"),
    [
        (Over(1, "flag", "White ran out of time"), "0-1", "time forfeit"),
        (Over(None, "flag", "White ran out of time"), "1/2-1/2", "time forfeit"),
        (Over(None, "noshow", "White did not move in time"), "*", "time forfeit"),
        (None, "*", "unterminated"),
    ],
)
def test_a_match_with_a_clock_has_its_control_and_its_clocks(
    over: Over | None, result: str, termination: str
) -> None:
    """A file has the time control, each clock after its move and the time that the clock counted,
    not that of the log; the end by time is read as one.
    """
    seats = (ADA, Occupant("ben", "Ben"))
    builder = RecordBuilder(replace(MATCH, over=None if over is None else encode(over)))
    builder.add(
        entries(
            Started("m", 1, MATCH.start, "abc", seats, clock="40/7200+30:3600", clocks_ms=(7, 7)),
            replace(moved(0, "e2e4", "e4"), clock_ms=7_199_300, spent_ms=700),
            replace(moved(1, "e7e5", "e5"), clock_ms=7_190_000, spent_ms=10_000, lag_ms=90),
            Started("another", 2, MATCH.start, "abc", seats, clock="60+0"),
        )
    )
    record = builder.build().record
    text = format_pgn(record, load_game)
    for line in (f'[Result "{result}"]', '[TimeControl "40/7200+30:3600"]',
                 f'[Termination "{termination}"]'):  # fmt: skip
        assert f"\n{line}\n" in text
    assert "1. e4 {[%clk 1:59:59.3] [%emt 0:00:00.7]}" in text
    assert "1... e5 {[%clk 1:59:50] [%emt 0:00:10]" in text.replace("\n", " ")
    (read,) = read_games([text.encode()], load_game)
    assert isinstance(read, GameRecord)
    assert [(move.clock_ms, move.spent_ms) for move in read.moves] == [
        (7_199_300, 700), (7_190_000, 10_000),
    ]  # fmt: skip
    assert read.tags["TimeControl"] == "40/7200+30:3600"
    is_ended = over is not None and over.how == "flag"
    assert (read.over is not None) == is_ended
    if over is not None and read.over is not None:
        assert (read.over.winner, read.over.how) == (over.winner, "flag")


@pytest.mark.parametrize(
    ("ply", "thought", "expected"),
    [
        (0, '{"depth":9,"score":31,"pv":["e2e4"]}', "0.31,9"),
        (1, '{"depth":9,"score":31,"pv":["e2e4"]}', "-0.31,9"),
        (0, '{"depth":5,"score":29997,"pv":["e2e4"]}', "#1,5"),
        (0, '{"depth":5,"score":29999,"pv":["e2e4"]}', None),
        (1, '{"depth":5,"score":29995,"pv":["e2e4"]}', "#-2,5"),
        (1, '{"depth":5,"score":-29996,"pv":["e2e4"]}', "#2,5"),
        (0, '{"depth":9,"score":31,"pv":["d2d4"]}', None),
        (0, '{"depth":9,"score":31,"pv":["e2e4"],"value":"0.3"}', None),
        (0, "{", None),
    ],
)
def test_the_value_of_a_search_is_that_of_its_move(
    ply: int, thought: str, expected: str | None
) -> None:
    """A value is for White, mates count moves, and a move that is not the best has none."""
    builder = RecordBuilder(MATCH)
    moves = [moved(0, "a2a3", "a3")] * ply + [moved(ply, "e2e4", "e4")]
    builder.add(entries(*moves))
    record = builder.build([Thought("m", 2 + ply, ply, thought.encode())]).record
    assert record.moves[ply].eval == expected


@virtual
async def test_exports_together_have_a_share_of_the_event_loop() -> None:
    """Each piece of work runs alone, and all others wait in proportion to it, however many exports
    there are.
    """
    spent_s = [0.0]
    pace = Pace(0.25, lambda: spent_s[0])

    def work() -> float:
        spent_s[0] += 1.0
        return spent_s[0]

    loop = asyncio.get_running_loop()
    began_s = loop.time()
    assert await asyncio.gather(*[pace.run(work) for _ in range(4)]) == [1, 2, 3, 4]
    assert loop.time() - began_s == pytest.approx(4 * 3)
    # Short pauses are added up: three of 3 s are longer than 7 s, the fourth is still owed.
    pace, began_s = Pace(0.25, lambda: spent_s[0], least_s=7), loop.time()
    assert await asyncio.gather(*[pace.run(work) for _ in range(4)]) == [5, 6, 7, 8]
    assert loop.time() - began_s == pytest.approx(3 * 3)
