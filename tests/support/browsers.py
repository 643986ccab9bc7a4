"""People with a browser on a real server, who see the page and click on it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import Browser, Error, Locator, Page, expect

from client.connection import connect
from server.commands import AiSeat, Create, MySeat, OpenSeat, Visibility
from tests.support.browser import OPEN_S, watch_faults

#: The page's title while its player is on turn.
TURN = re.compile(r"^Your turn")
#: The time limit of a wait for the page, in ms; only a test that hangs reaches it.
TIMEOUT_MS = 60_000
#: How long an `expect` may read the page for its report when the time is over, in ms.
REPORT_MS = 1_000
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}

#: Opens another page of the app without loading it.
OPEN = """path => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
}"""

#: Waits until the page's title matches a pattern.
TITLED = """pattern => new Promise((resolve) => {
    const observer = new MutationObserver(look);
    observer.observe(document.head, { subtree: true, childList: true, characterData: true });
    look();
    function look() {
        if (!RegExp(pattern).test(document.title)) return;
        observer.disconnect();
        resolve();
    }
})"""

expect.set_options(timeout=TIMEOUT_MS)


class Person:
    """A person at a page of the server; `faults` are the errors and warnings of the page."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults = watch_faults(page)

    async def go(self, path: str) -> None:
        await self.page.goto(self.url + path)

    async def open(self, path: str) -> None:
        """Opens another page of the app as a link does, without loading the app again."""
        await self.page.evaluate(OPEN, path)

    async def go_to_lobby(self) -> None:
        """Follows the page's link to the lobby, which loads nothing again: `go` takes three times
        as long.
        """
        await self.page.get_by_role("link", name="Plyroom, to the lobby").click()

    async def reload(self) -> None:
        """Presses F5 and waits until the board is back."""
        await self.page.reload()
        await self.board.wait_for()

    async def until(self, expression: str) -> None:
        """Waits until an expression is true in the page, which it evaluates once a frame.

        Playwright's `wait_for_function` evaluates its text again in each frame, which the page's
        content policy forbids: it fails unless the expression is true at once.
        """
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            await self.page.evaluate(
                f"""() => new Promise((resolve) => {{
                    const look = () => ({expression}) ? resolve() : requestAnimationFrame(look);
                    look();
                }})"""
            )

    # --- what they see

    @property
    def board(self) -> Locator:
        return self.page.locator("ply-board svg.board")

    @property
    def status(self) -> Locator:
        return self.page.locator(".state .status")

    @property
    def banner(self) -> Locator:
        return self.page.locator(".banner")

    @property
    def announcement(self) -> Locator:
        """The last announcement to screen readers."""
        return self.page.locator("#announcer")

    def cell(self, cell: str) -> Locator:
        return self.page.locator(f"ply-board [role=gridcell][data-cell='{cell}']")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def pieces(self) -> dict[str, str]:
        """Returns the piece on every occupied cell, from the labels for screen readers."""
        labels: list[str] = await self.page.locator("ply-board [role=gridcell]").evaluate_all(
            "cells => cells.map(cell => cell.getAttribute('aria-label'))"
        )
        read = [label.split(", ") for label in labels]
        return {cell: piece for cell, piece, *_ in read if piece != "empty"}

    async def wait_for_pieces(self, pieces: dict[str, str]) -> None:
        """Waits until the board has exactly these pieces.

        The board comes after the move in the list and after the result of the match; in a room that
        is opened, after the room.
        """
        try:
            async with asyncio.timeout(TIMEOUT_MS / 1000):
                while await self.pieces() != pieces:
                    await self.page.evaluate("new Promise(requestAnimationFrame)")
        except TimeoutError:
            assert await self.pieces() == pieces

    async def moves(self) -> list[str]:
        return await self.page.locator(".moves .move").all_inner_texts()

    # --- what they do

    async def create(
        self,
        game: str,
        opponent: str,
        *,
        level: int | None = None,
        side: str | None = None,
        seat_for: str | None = None,
        time: str | None = None,
        helps: bool = False,
        loads: bool = True,
    ) -> None:
        """Creates a room with the sheet of a game in the lobby, and waits for the board.

        With `loads` false the app is open, and is not loaded again.
        """
        await (self.go("/") if loads else self.open("/"))
        await self.pick("Game", game)
        await self.pick("Against", opponent)
        if level is not None:
            await self.pick("Level", str(level))
        if side is not None:
            await self.pick("You play", side)
        if seat_for is not None:
            await self.pick("The other seat is for", seat_for)
        if time is not None:
            await self.pick("Minutes for each side, and seconds added each turn", time)
        if helps:
            await self.pick("During the match, the bot helps with positions", "Both")
        await self.create_room()
        await self.board.wait_for()

    async def open_room(
        self,
        game: str,
        opponent: OpenSeat | AiSeat,
        *,
        visibility: Visibility | None = None,
        helps: bool = False,
    ) -> None:
        """Creates a room in which they begin, without the lobby, and opens it.

        It takes half the time of `create`. By default rooms for a friend are unlisted.
        """
        if visibility is None:
            visibility = "public" if isinstance(opponent, AiSeat) else "unlisted"
        guests = self.page.context.request
        assert (await guests.post(f"{self.url}/api/guest")).ok
        (token,) = [
            cookie["value"]
            for cookie in await self.page.context.cookies(self.url)
            if cookie["name"].startswith("plyroom_")
        ]
        async with connect(self.url, token=token) as client:
            seats = (MySeat(), opponent)
            create = Create(
                client.new_id(), game=game, seats=seats, visibility=visibility, help=helps
            )
            room = (await client.command(create)).room
        is_loaded = self.page.url.startswith(self.url)
        await (self.open if is_loaded else self.go)(f"/room/{room}")
        await self.board.wait_for()

    async def create_room(self) -> None:
        """Clicks the main button of a game's sheet and waits for the room's address."""
        await self.page.locator(".sheet button.main").click()
        await self.page.wait_for_url("**/room/*")

    async def pick(self, group: str, choice: str) -> None:
        """Opens the sheet of a game, or clicks one of the choices in it."""
        if group == "Game":
            await self.button(choice).click()
            return
        await (
            self.page.get_by_role("group", name=group, exact=True)
            .locator("label", has_text=choice)
            .first.click()
        )

    async def wait_for_turn(self) -> None:
        """Waits for their turn.

        An `expect` alone reads the whole page for its report each time that the title differs.
        """
        limit_ms = TIMEOUT_MS
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self.page.evaluate(TITLED, TURN.pattern)
        except TimeoutError:
            limit_ms = REPORT_MS
        except Error:  # of a page that is loaded again in the meantime
            pass
        await expect(self.page).to_have_title(TURN, timeout=limit_ms)

    async def play(self, cell: str) -> None:
        """Waits for their turn, clicks a cell and waits until the move is listed."""
        await self.wait_for_turn()
        listed = self.page.locator(".moves .move")
        before = await listed.count()
        await self.cell(cell).click()
        await listed.nth(before).wait_for(state="attached")

    async def open_tab(self, name: str) -> None:
        """Opens a tab of a room or a replay; on a wide window, which has no tabs, does nothing."""
        await self.page.locator(".match-page").wait_for()
        tab = self.page.get_by_role("tab", name=name)
        if await tab.count():
            await tab.click()

    async def chat(self, text: str) -> None:
        await self.open_tab("Chat")
        await self.page.get_by_label("Say something").fill(text)
        await self.page.keyboard.press("Enter")

    async def wait_for_chat_extras(self) -> None:
        """Waits for what the chat loads after the room: links, answers, commands and notices."""
        field = self.page.get_by_label("Say something")
        await expect(field).to_have_attribute("role", "combobox")

    async def wait_for_chat(self, text: str) -> None:
        """Waits until a line of chat appears."""
        await expect(self.page.locator(".chat .said", has_text=text)).to_have_count(1)


#: The people of earlier tests whose pages are used again, with the context that they have.
_idle: WeakKeyDictionary[Browser, list[tuple[dict[str, Any], Person]]] = WeakKeyDictionary()


@asynccontextmanager
async def people(
    browser: Browser, url: str, *contexts: dict[str, Any]
) -> AsyncIterator[list[Person]]:
    """Opens a page for each browser context; at the end no page may have recorded an error.

    A DESKTOP or PHONE may be that of an earlier test, without its cookies and what it stored: a new
    one takes twice the time, because it loads and compiles all scripts again. A test that leaves
    anything else behind (routes, listeners, scripts of its own, no network) says `{**DESKTOP}`.
    """
    async with asyncio.timeout(OPEN_S):
        group = [await _enter(browser, url, context) for context in contexts]
    kept: list[Person] = []
    try:
        yield group
        assert not any(person.faults for person in group), [person.faults for person in group]
        async with asyncio.timeout(OPEN_S):
            for person, context in zip(group, contexts, strict=True):
                if await _leave(person, context):
                    kept.append(person)
                    _idle.setdefault(browser, []).append((context, person))
    finally:  # the pages of a test that failed would go on beside the next ones
        async with asyncio.timeout(OPEN_S):
            for person in group:
                if person not in kept:
                    await person.page.context.close()


async def _enter(browser: Browser, url: str, context: dict[str, Any]) -> Person:
    """Returns a person with an idle page, or with one in a new context."""
    idle = _idle.setdefault(browser, [])
    # At the end of a module all contexts are closed.
    idle[:] = [(kind, person) for kind, person in idle if not person.page.is_closed()]
    for i, (kind, person) in enumerate(idle):
        if kind is context:
            del idle[i]
            person.url = url
            return person
    page = await (await browser.new_context(**context)).new_page()
    page.set_default_timeout(TIMEOUT_MS)
    return Person(page, url)


async def _leave(person: Person, context: dict[str, Any]) -> bool:
    """Empties a DESKTOP or PHONE for the next test; returns whether it could."""
    page = person.page
    if all(context is not kind for kind in (DESKTOP, PHONE)) or page.context.pages != [page]:
        return False
    await page.goto("about:blank")
    await page.set_viewport_size(context["viewport"])
    await page.emulate_media(media="null", color_scheme="null", reduced_motion="null")
    await page.context.clear_cookies()
    session = await page.context.new_cdp_session(page)
    await session.send(
        "Storage.clearDataForOrigin", {"origin": person.url, "storageTypes": "local_storage"}
    )
    await session.detach()
    return not person.faults
