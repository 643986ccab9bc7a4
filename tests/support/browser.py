"""A real Chromium for tests, and pages that record every error on them."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, Route, async_playwright

ROOT = Path(__file__).parents[2]
#: Chromium's command line arguments.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
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
    """Opens a page that can import this repository's modules, as `/client/web/shell/model.js`."""
    opened = await browser.new_context(**context)
    try:
        page = await opened.new_page()
        await page.route(f"{FILES}/**", _serve_file)
        await page.goto(f"{FILES}/blank")
        yield page
    finally:
        await opened.close()


async def _serve_file(route: Route) -> None:
    path = ROOT / route.request.url.removeprefix(f"{FILES}/")
    if path.is_file():
        await route.fulfill(
            body=path.read_bytes(), content_type=MIME.get(path.suffix, "text/plain")
        )
    else:
        await route.fulfill(body="<!doctype html><title>blank</title>", content_type="text/html")
