"""Measures the first load of each page in Chromium, on a fast and on a slow line.

    python -m tests.system.page_loads

The slow line is that of Chromium's developer tools: 400 ms before each response and 50 kB/s. Each
load starts with an empty cache. "Seen" is the first contentful paint, "board" the first board in
the document: a game of the lobby, or the board of a room or a replay.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from playwright.async_api import Browser, CDPSession, Page

from server.bench.players import RequestClient, connect
from tests.support.browser import open_chromium
from tests.support.server_process import NO_RATE_LIMITS, serving

#: The lines: the delay of each response in ms, and bytes a second (-1: no limit).
LINES = {"fast": (0, -1), "400 ms, 50 kB/s": (400, 50_000)}
#: The first board of a page.
BOARD = "ply-board svg.board, .thumbnail"
#: Rooms in the lobby whose elements are counted.
ROOMS = 30
#: Limit of a load that fails, in ms.
WAIT_MS = 60_000
#: Notes when the first board is in the document.
WATCH = f"""new MutationObserver((_, observer) => {{
    if (!document.querySelector("{BOARD}")) return;
    window.firstBoardMs = performance.now();
    observer.disconnect();
}}).observe(document, {{ childList: true, subtree: true }});"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
GAMES = ("chess", "othello", "hex", "connect-four", "draughts", "tic-tac-toe")


@dataclass(frozen=True)
class Load:
    """One load of a page: its requests, their bytes on the line and decoded, and times in ms."""

    requests: int
    sent_bytes: int
    decoded_bytes: int
    seen_ms: float | None
    board_ms: float | None


async def load(browser: Browser, url: str, line: tuple[int, int], has_board: bool) -> Load:
    """Loads a page with an empty cache on a line."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = await context.new_page()
        await page.add_init_script(WATCH)
        tools = await context.new_cdp_session(page)
        counts = await _count(tools)
        delay_ms, bytes_per_s = line
        await tools.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False, "latency": delay_ms, "downloadThroughput": bytes_per_s,
                "uploadThroughput": bytes_per_s,
            },
        )  # fmt: skip
        await page.goto(url, wait_until="load", timeout=WAIT_MS)
        if has_board:
            await page.wait_for_selector(BOARD, state="attached", timeout=WAIT_MS)
        else:
            await page.wait_for_selector("main h1", timeout=WAIT_MS)
        board_ms = await page.evaluate("window.firstBoardMs ?? null")
        seen_ms = await page.evaluate(PAINTED)
    finally:
        await context.close()
    return Load(counts["requests"], counts["sent"], counts["decoded"], seen_ms, board_ms)


async def _count(tools: CDPSession) -> dict[str, int]:
    """Counts requests and bytes from now on; images that the page makes itself do not count."""
    counts = {"requests": 0, "sent": 0, "decoded": 0}
    sent: set[str] = set()

    def on_request(event: dict[str, Any]) -> None:
        if event["request"]["url"].startswith("http"):
            sent.add(event["requestId"])

    def on_finished(event: dict[str, Any]) -> None:
        if event["requestId"] in sent:
            counts["requests"] += 1
            counts["sent"] += int(event["encodedDataLength"])

    def on_data(event: dict[str, Any]) -> None:
        if event["requestId"] in sent:
            counts["decoded"] += int(event["dataLength"])

    tools.on("Network.requestWillBeSent", on_request)
    tools.on("Network.loadingFinished", on_finished)
    tools.on("Network.dataReceived", on_data)
    await tools.send("Network.enable")
    return counts


async def create_room(client: RequestClient, number: int, visibility: str = "public") -> str:
    """Creates a room with one free seat."""
    seats = [{"who": "me"}, {"who": "open"}]
    ack = await client.request(
        "ack", t="create", id=f"c{number}", game=GAMES[number % len(GAMES)], seats=seats,
        visibility=visibility,
    )  # fmt: skip
    return str(ack["room"])


async def finish_match(host: RequestClient, guest: RequestClient, room: str) -> str:
    """Lets the guest take the free seat and the host resign; returns the match."""
    await guest.request("snapshot", t="join", id="j", room=room)
    event = await guest.request("event", t="sit", id="s", room=room, seat=1)
    while event["kind"] != "started":
        event = await guest.receive(30)
    await host.request("ack", t="resign", id="r", room=room)
    return str(event["match"])


async def count_elements(page: Page, url: str) -> int:
    """The number of elements of the lobby when all its rooms are drawn."""
    await page.goto(url)
    await page.wait_for_selector(".rooms .open li")
    await page.wait_for_timeout(1000)
    return int(await page.evaluate("document.querySelectorAll('*').length"))


async def measure() -> str:
    """Measures all loads; returns them as a table in Markdown."""
    lines = [
        "| line | page | requests | kB | uncompressed kB | seen, s | board, s |",
        "| - | - | - | - | - | - | - |",
    ]
    with tempfile.TemporaryDirectory(prefix="plyroom-loads-") as folder:
        data = Path(folder) / "data"
        async with open_chromium() as browser, serving(data, **NO_RATE_LIMITS) as server:
            host = RequestClient(await connect(server.port))
            guest = RequestClient(await connect(server.port))
            for client in (host, guest):
                await client.request("welcome", t="hello", protocol=1)
            match = await finish_match(host, guest, await create_room(host, 0))
            rooms = [await create_room(host, number) for number in range(ROOMS)]
            pages = {"lobby": "/", "room": f"/room/{rooms[0]}", "replay": f"/match/{match}"}
            pages["replays"] = "/replays"
            # At the first start of a version the server compresses the files during this load.
            await load(browser, server.url, LINES["fast"], has_board=True)
            await asyncio.sleep(2)
            for line, conditions in LINES.items():
                for name, path in pages.items():
                    done = await load(browser, server.url + path, conditions, name != "replays")
                    lines.append(_row(line, name, done))
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            elements = await count_elements(page, server.url)
    lines += ["", f"The lobby with {ROOMS} rooms has {elements} elements."]
    return "\n".join(lines)


def _row(line: str, page: str, done: Load) -> str:
    seconds = ["" if ms is None else f"{ms / 1000:.2f}" for ms in (done.seen_ms, done.board_ms)]
    kb = [f"{size / 1000:.1f}" for size in (done.sent_bytes, done.decoded_bytes)]
    return f"| {line} | {page} | {done.requests} | {' | '.join([*kb, *seconds])} |"


@click.command()
def main() -> None:
    """Measures the first loads and prints them."""
    click.echo(asyncio.run(measure()))


if __name__ == "__main__":
    main()
