"""The layout and accessibility of the pages: on a phone and a desktop, light and dark."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving
from tests.support.small_texts import small_texts

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

AXE = Path(sys.prefix) / "npm/node_modules/axe-core/axe.min.js"
AUDIT = """async () => {
    const options = { resultTypes: ["violations"], selectors: false };
    const { violations } = await axe.run(document, options);
    const html = (nodes) => nodes.map((node) => node.html).join(" | ").slice(0, 500);
    return violations.map(({ id, nodes }) => `${id}: ${html(nodes)}`);
}"""
#: Each screen and each scheme once; `make test-long` adds the other two pairs.
SCREENS_AND_SCHEMES = [
    pytest.param(DESKTOP, "light", id="desktop-light"),
    pytest.param(PHONE, "dark", id="phone-dark"),
    pytest.param(DESKTOP, "dark", id="desktop-dark", marks=pytest.mark.long),
    pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.long),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(
        tmp_path_factory.mktemp("pages") / "data", workers=1, ai_pace_ms=0
    ) as server:
        yield server


async def audit(page: Page) -> list[str]:
    """Returns the texts that are too small and, if axe is installed, the faults that it finds."""
    faults = await small_texts(page)
    if AXE.exists():
        if not await page.evaluate("'axe' in window"):
            # Playwright's `evaluate` would compile axe anew for each page.
            session = await page.context.new_cdp_session(page)
            await session.send("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})
            await session.detach()
        faults += await page.evaluate(AUDIT)
    return faults


async def assert_fits(person: Person, in_height: bool) -> None:
    """Asserts that the page is no wider than the window and, with `in_height`, no higher."""
    # On a phone `innerWidth` grows with a page that is too wide: Chromium shows it smaller.
    window = person.page.viewport_size
    assert window is not None
    too_wide_px, too_high_px = await person.page.evaluate(
        "([width, height]) => [document.documentElement.scrollWidth - width,"
        " document.documentElement.scrollHeight - height]",
        [window["width"], window["height"]],
    )
    assert too_wide_px <= 0, f"{person.page.url} is {too_wide_px} px too wide"
    assert not in_height or too_high_px <= 0, f"{person.page.url} is {too_high_px} px too high"


async def test_axe_is_installed() -> None:
    """`make check` installs axe; without it the tests below check less."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed in this environment; `make check` does it")


async def test_a_small_text_is_found(chromium: Browser) -> None:
    """The audit finds what is below 12 px on the screen, in HTML and in a scaled SVG, no more."""
    page = await chromium.new_page()
    await page.set_content(
        """<html lang="en"><title>Sizes</title><main style="font-size: 12px"><h1>One</h1>two
        <small style="font-size: 11px">three</small><p hidden style="font-size: 5px">four</p>
        <svg viewBox="0 0 10 10" width="50" height="50"><text y="5" font-size="2">five</text>
        <text y="9" font-size="2.5">six</text></svg></main>"""
    )
    found = [fault.partition(" (")[0] for fault in await small_texts(page)]
    assert found == ["11.0 px: three", "10.0 px: five"]


@pytest.mark.parametrize(("screen", "scheme"), SCREENS_AND_SCHEMES)
async def test_every_page_fits_and_passes_axe(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any], scheme: str
) -> None:
    """From the lobby to the replay, axe finds nothing and the board needs no scrolling. In dots and
    boxes two dots are a line.

    On a desktop the pages are loaded, on a phone they follow each other in the app.
    """
    is_desktop = screen is DESKTOP
    async with people(chromium, server.url, {**screen, "color_scheme": scheme}) as (ada,):

        async def check(in_height: bool = False) -> None:
            await assert_fits(ada, in_height and is_desktop)
            assert await audit(ada.page) == []

        async def go(path: str) -> None:
            await (ada.go(path) if is_desktop else ada.open(path))

        await ada.create("Connect four", "A friend")
        await check(in_height=True)
        await ada.create("Connect four", "The AI", level=3, side="Red", loads=is_desktop)
        await ada.play("d1")
        await ada.wait_for_turn()
        await ada.chat("a line of chat that is so long that it has to be broken, " * 4 + "a" * 100)
        await ada.page.locator(".chat .said").wait_for()
        await check(in_height=True)
        await ada.page.evaluate("scrollTo(0, 0)")
        for part in (
            ada.board,
            ada.page.locator(".player").first,
            ada.page.locator(".player").last,
            ada.status,
        ):
            await expect(part).to_be_in_viewport(ratio=1)
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        await ada.page.locator(".state.over").wait_for()
        await check(in_height=True)
        if is_desktop:  # elsewhere it is in a tab
            setting = ada.page.get_by_label("In the next match, shown to")
            await expect(setting).to_be_in_viewport(ratio=1)
            size = ada.page.viewport_size
            assert size is not None
            foot = ada.page.locator(".thinking .setting")
            await ada.page.set_viewport_size({**size, "height": 500})
            await expect(foot).to_have_css("position", "static")
            await ada.page.set_viewport_size(size)
            await expect(foot).to_have_css("position", "sticky")
        await ada.page.get_by_role("link", name="Replay", exact=True).click()
        await ada.page.get_by_label("Ply", exact=True).wait_for()
        await ada.page.keyboard.press("End")
        await expect(ada.page.locator(".thinking tbody tr")).to_have_count(7)
        await check(in_height=True)
        await go("/replays")
        await ada.page.locator(".matches li").first.wait_for()
        await check()
        await go("/")
        await ada.page.locator(".matches li").first.wait_for()
        await check()
        await ada.button("Two on this screen").click()
        await ada.page.get_by_label("Time").wait_for()
        await check()
        await ada.button("Dots and boxes").click()
        await ada.wait_for_turn()
        await ada.cell("b2").click()
        await expect(ada.page.locator(".mark.hint")).to_have_count(4)
        await check(in_height=True)
        await ada.cell("b3").click()  # as on paper: the line between two dots
        await expect(ada.page.locator(".moves .move")).to_have_text("b2b3")
        if (screen, scheme) == (DESKTOP, "light"):
            return  # tests/system/test_every_game.py does so for every game
        for game in ("Tic-tac-toe", "Sticks"):
            await ada.create(game, "The AI", level=1, loads=is_desktop)
            await check(in_height=True)
            await expect(ada.board).to_be_in_viewport(ratio=1)


async def test_the_chosen_theme_outlives_a_reload_and_a_change_of_the_system_theme(
    chromium: Browser, server: ServerProcess
) -> None:
    """A theme that the user has chosen stays after a reload and when the system's theme changes.

    The pictures of the games are the same in both: in their light colours they differ most.
    """
    background = "getComputedStyle(document.documentElement).backgroundColor"
    async with people(chromium, server.url, {**DESKTOP, "color_scheme": "light"}) as (ada,):
        await ada.go("/")
        light = await ada.page.evaluate(background)
        await ada.button("Use the dark theme").click()
        dark = await ada.page.evaluate(background)
        assert dark != light
        await ada.page.reload()
        assert await ada.page.evaluate(background) == dark
        await ada.button("Use the light theme").click()
        picture = ada.page.locator(".game-card img").first
        light_picture = str(await picture.get_attribute("src"))
        await ada.page.emulate_media(color_scheme="dark")
        assert await ada.page.evaluate(background) == dark
        await expect(picture).to_have_attribute("src", light_picture)


async def test_the_back_button_loads_nothing_and_no_other_server_receives_a_request(
    chromium: Browser, server: ServerProcess
) -> None:
    """The back button returns to the room and to the lobby, and the page is not loaded again.

    The pages work without other servers, and contain no inline script or style.
    """
    async with people(chromium, server.url, {**DESKTOP}) as (ada,):
        requested: list[str] = []
        ada.page.on("request", lambda request: requested.append(request.url))
        ada.page.on(
            "websocket", lambda socket: requested.append(socket.url.replace("ws://", "http://"))
        )
        await ada.create("Tic-tac-toe", "The AI", level=1, side="Crosses")
        inline_count = (
            "document.querySelectorAll('style, script:not([src]), [onclick], [onload]').length"
        )
        assert await ada.page.evaluate(inline_count) == 0
        await ada.play("b2")
        await ada.wait_for_turn()
        before = await ada.pieces()
        await ada.page.evaluate("window.loadedOnce = true")
        await ada.page.get_by_role("link", name="Replays").click()
        await expect(ada.page.get_by_role("heading", name="Replays")).to_be_visible()
        await ada.page.go_back()
        await ada.wait_for_turn()
        assert await ada.pieces() == before
        await ada.page.go_back()
        await expect(ada.page.locator(".offered").first).to_be_visible()
        assert await ada.page.evaluate("window.loadedOnce")
        assert any(url.endswith(".js") for url in requested)
        assert [url for url in requested if not url.startswith(server.url)] == []
