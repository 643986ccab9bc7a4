"""A real Chromium for tests, and pages that record every error on them."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

ROOT = Path(__file__).parents[2]
#: Chromium's command line arguments.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
    # A page lives a few seconds: what V8's optimizing compilers take is more than they save, most
    # for axe, whose first run on a page takes a quarter less without them.
    "--js-flags=--no-opt --no-maglev",
]  # fmt: skip
#: The names of Chromium's program; the first one that exists is started. The headless shell has the
#: same engine as the others, without the window around the page, and takes a quarter of their time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
#: The kinds of console messages that count as faults.
FAULTS = ("error", "warning", "assert")
#: The content type of a file by its suffix.
MIME = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".json": "application/json",
}
#: How long a browser may take to open, empty or close something, in seconds; only one that hangs
#: takes longer. Playwright has no limit of its own for these.
OPEN_S = 60.0
#: The address under which a page reads the files of this repository.
FILES = "http://files.test"


@asynccontextmanager
async def open_chromium() -> AsyncIterator[Browser]:
    """Opens this system's Chromium; raises RuntimeError if it is missing."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        raise RuntimeError("there is no Chromium here; `make system` installs it")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            async with asyncio.timeout(OPEN_S):
                await browser.close()


def watch_faults(page: Page) -> list[str]:
    """Returns a list to which a page's errors, warnings and CSP violations are added."""
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on(
        "console",
        lambda line: faults.append(f"{line.type}: {line.text}") if line.type in FAULTS else None,
    )
    return faults


@asynccontextmanager
async def open_files(browser: Browser, **context: Any) -> AsyncIterator[Page]:
    """Opens a page that can import this repository's modules, as `/client/web/shell/model.js`.

    It reads each file once: a proxy of its own answers for the address FILES, and the browser keeps
    what it has. (An answer to a request that a test intercepts is never kept.)
    """
    async with _proxy() as proxy:
        opened = await browser.new_context(**context, proxy={"server": proxy})
        try:
            page = await opened.new_page()
            await page.goto(f"{FILES}/blank")
            yield page
        finally:
            async with asyncio.timeout(OPEN_S):
                await opened.close()


@asynccontextmanager
async def _proxy() -> AsyncIterator[str]:
    """Serves this repository's files under FILES to a browser; yields the proxy's address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_file(request.split(b" ", 2)[1].decode()))
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def _file(url: str) -> bytes:
    """Returns the HTTP response with a file; an empty page where there is none."""
    path = ROOT / url.removeprefix(f"{FILES}/")
    is_file = path.is_file()
    body = path.read_bytes() if is_file else b"<!doctype html><title>blank</title>"
    kind = MIME.get(path.suffix, "text/plain") if is_file else "text/html"
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: max-age=3600\r\n\r\n"
    )
    return head.encode() + body
