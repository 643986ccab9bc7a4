"""server/web/analyses.py: analyses are requested, read and followed over HTTP."""

import asyncio
import json
from typing import Any

from server.codes import Code
from server.web import analyses
from tests.support.analyses import WON, SearchingEngines, analysing_server, play_match
from tests.support.fake_server import FakeServer
from tests.support.node import Node, Response, serve


async def post(node: Node, match: str, token: str | None) -> Response:
    """Requests an analysis as a guest."""
    headers = {"Content-Length": "0"} | ({"Authorization": f"Bearer {token}"} if token else {})
    async with node.http() as http:
        return await http.request(f"/api/matches/{match}/analysis", "POST", headers)


async def new_guest(node: Node) -> str:
    """Creates a guest; returns the token."""
    async with node.guest() as socket:
        return str(socket.messages[0]["token"])


async def follow(node: Node, match: str) -> list[dict[str, Any]]:
    """The lines of an analysis that is followed to its end, without the empty ones."""
    async with node.http() as http:
        head = f"GET /api/matches/{match}/analysis?follow HTTP/1.1\r\nHost: {node.host}\r\n"
        http.writer.write(f"{head}Connection: close\r\n\r\n".encode())
        content = await http.read_to_end()
    answer, _, body = content.partition(b"\r\n\r\n")
    assert b"application/x-ndjson" in answer
    chunks = body.split(b"\r\n")[1::2] if b"chunked" in answer.lower() else [body]
    lines = b"".join(chunks).split(b"\n")
    return [json.loads(line) for line in lines if line]


def merged(lines: list[dict[str, Any]]) -> dict[int, Any]:
    """The entries of a stream, merged by ply as a client does."""
    return {entry["ply"]: entry for line in lines for entry in line.get("moves", ())}


async def test_an_analysis_is_requested_followed_and_read() -> None:
    """A guest requests an analysis; every follower gets each entry as it is made, then the whole,
    which anyone can read later.
    """
    fake = analysing_server(search_s=0.05)
    match = await play_match(fake, *WON)
    async with serve(fake) as node:
        path = f"/api/matches/{match}/analysis"
        before = (await node.get(path)).json
        assert (before["state"], before["plies"], before["done_plies"]) == ("none", 8, 0)
        refused = await post(node, match, None)
        assert (refused.status, refused.json["code"]) == (401, Code.TOKEN_UNKNOWN)
        token = await new_guest(node)
        accepted = await post(node, match, token)
        assert (accepted.status, accepted.json["plies"]) == (202, 8)
        streams = await asyncio.gather(*(follow(node, match) for _ in range(3)))
        again = await post(node, match, token)
        assert (again.status, again.json["state"]) == (200, "done")
        whole = (await node.get(path)).json
        for lines in streams:
            assert len(lines) > 2
            assert lines[-1] == whole
            assert {line["state"] for line in lines[1:-1]} <= {"queued", "running"}
            assert merged(lines[:-1]).keys() <= merged(lines).keys()
        assert [entry["ply"] for entry in whole["moves"]] == list(range(8))
        assert whole["moves"][7]["chance"] == 100
        assert len(fake.engines.jobs) == 7


async def test_refusals_over_http() -> None:
    """An unknown match is a 404, one that cannot be analysed a 409, and a limit a 429, in words."""
    fake = analysing_server()
    running = await play_match(fake, "b2")
    matches = [await play_match(fake, *WON) for _ in range(2)]
    async with serve(fake, limit_studies_per_day=1) as node:
        token = await new_guest(node)
        assert (await node.get("/api/matches/none/analysis")).status == 404
        assert (await post(node, "none", token)).status == 404
        answer = await post(node, running, token)
        assert (answer.status, answer.json["code"]) == (409, Code.ANALYSIS_REFUSED)
        assert "still running" in answer.json["message"]
        assert (await post(node, matches[0], token)).status == 202
        answer = await post(node, matches[1], token)
        assert (answer.status, answer.json["code"]) == (429, Code.RATE_EXCEEDED)
        assert "1 analysis a day" in answer.json["message"]


async def test_a_follower_reads_changes_whose_message_was_lost(monkeypatch: Any) -> None:
    """A follower on another node sees the analysis grow even if the bus loses all messages."""
    monkeypatch.setattr(analyses, "POLL_S", 0.05)
    fake = analysing_server(search_s=0.05)
    match = await play_match(fake, *WON)
    fake.bus.cut = True  # type: ignore[attr-defined]
    other = FakeServer()
    other.store, other.bus, bare = fake.store, fake.bus, SearchingEngines()
    bare.workers, other.engines = 0, bare
    async with serve(fake) as node, serve(other, "n2") as reader:
        assert (await post(node, match, await new_guest(node))).status == 202
        lines = await follow(reader, match)
    assert lines[-1]["state"] == "done"
    assert len(merged(lines)) == 8
