"""Analyses in a cluster: a worker on the broker searches, and readers at every node watch."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from client.connection import connect
from server.bench.cluster import wait_for_all_nodes
from server.bench.cluster_load import UNLIMITED
from server.commands import Create, Move, Resign
from server.deploy.cluster.running import Cluster, cluster
from server.protocol.messages import CommandFrame
from tests.oracle.analyses import Reading, check_analyses

#: A match of connect-four, in which nobody has four in a row.
MOVES = ("d", "d", "d", "d", "c", "e", "c", "e", "e", "c", "b", "f")

#: Number of sizes in which each reader must see the growing analysis, of 14.
SIZES = 5


async def play_match(url: str) -> None:
    """Plays the match on one screen, and resigns."""
    async with connect(url) as ada:
        create = Create(id=ada.new_id(), game="connect-four", one_screen=True)
        room = (await ada.command(create)).room
        assert isinstance(room, str)
        for ply, move in enumerate(MOVES):
            await ada.command(CommandFrame(room, Move(id=ada.new_id(), ply=ply, move=move)))
        await ada.command(CommandFrame(room, Resign(id=ada.new_id())))


async def request_analysis(http: ClientSession, url: str) -> str:
    """Requests the analysis of the only match as a new guest; returns the path of its report."""
    async with http.get(f"{url}/api/matches") as answer:
        (match,) = (await answer.json())["matches"]
    path = f"/api/matches/{match['match']}/analysis"
    async with http.post(f"{url}/api/guest", json={}) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
    headers = {"Authorization": f"Bearer {cookie.partition('=')[2]}"}
    async with http.post(f"{url}{path}", headers=headers) as answer:
        assert (await answer.json())["state"] == "queued"
    return path


async def watch(
    http: ClientSession, address: str, is_watching: asyncio.Event
) -> tuple[dict[str, Any], ...]:
    """Follows an analysis to its end; returns the reports that were sent."""
    reports: list[dict[str, Any]] = []
    while not reports or reports[-1]["state"] in ("queued", "running"):
        async with http.get(f"{address}?follow") as answer:
            async for line in answer.content:
                if line.strip():
                    reports.append(json.loads(line))
                    is_watching.set()
    return tuple(reports)


async def analysed_plies(running: Cluster) -> list[float]:
    """The number of positions that each node has analysed, by its metrics."""
    counts = []
    async with ClientSession() as http:
        for port in running.metrics_ports:
            answer = await http.get(f"http://127.0.0.1:{port}/metrics")
            sample = re.search(
                r"^plyroom_analysed_plies_total (\S+)$", await answer.text(), re.MULTILINE
            )
            assert sample is not None
            counts.append(float(sample[1]))
    return counts


@pytest.mark.timeout(300)
async def test_readers_at_both_nodes_watch_a_remote_worker(tmp_path: Path) -> None:
    """Nodes without engines leave an analysis to a worker on the broker. A reader at the node that
    does not run it sees it grow too, and reads the same.
    """
    async with (
        cluster(
            tmp_path, nodes=2, workers=1, settings=UNLIMITED, games="connect-four", forks=True
        ) as running,
        ClientSession() as http,
    ):
        await wait_for_all_nodes(running)
        (worker,) = running.workers
        await worker.kill()
        await play_match(running.urls[0])
        path = await request_analysis(http, running.urls[1])
        watching = [asyncio.Event() for _ in running.urls]
        readers = [
            asyncio.create_task(watch(http, f"{url}{path}", is_watching))
            for url, is_watching in zip(running.urls, watching, strict=True)
        ]
        for is_watching in watching:
            await is_watching.wait()
        await worker.start()
        seen = await asyncio.gather(*readers)
        counts = await analysed_plies(running)
    assert sorted(counts) == [0, len(MOVES) + 1], "one node runs an analysis"
    for reports in seen:
        sizes = {each["done_plies"] for each in reports}
        assert len(sizes) >= SIZES, "a reader that only looks now and then sees fewer"
    assert check_analyses(Reading("cluster", path, MOVES, reports) for reports in seen) == []
    assert seen[0][-1]["moves"] == seen[1][-1]["moves"]
