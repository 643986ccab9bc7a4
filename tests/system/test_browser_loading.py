"""Pages whose files or data do not arrive: what they show, and how they recover."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Request, Route, expect

from server.commands import AiSeat, OpenSeat
from tests.support.browsers import DESKTOP, PHONE, Person
from tests.support.server_process import ServerProcess, serving

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(tmp_path_factory.mktemp("loading") / "data") as server:
        yield server


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def closed_pages(chromium: Browser) -> AsyncIterator[None]:
    """Closes the pages of each test: they would look for their server beside the next tests."""
    yield
    for context in chromium.contexts:
        await context.close()


async def visitor(browser: Browser, server: ServerProcess, phone: bool = False) -> Person:
    """A person whose page may report errors: requests fail in these tests."""
    context = await browser.new_context(**(PHONE if phone else DESKTOP))
    return Person(await context.new_page(), server.url)


async def open_replays(person: Person) -> None:
    await person.page.get_by_role("link", name="Replays", exact=True).click()


async def test_a_page_is_loaded_when_it_is_opened(chromium: Browser, server: ServerProcess) -> None:
    """The lobby's first load has only its own files; a click loads the other page's once.

    After a failed load the address is loaded anew, once, as after an update. If that fails too, it
    shows a page with a button, which loads everything again.
    """
    ada = await visitor(chromium, server)
    requested: list[str] = []

    def note(request: Request) -> None:
        requested.append(request.url.rpartition("/static/")[2].partition("/")[2])

    ada.page.on("request", note)
    await ada.go("/")
    await expect(ada.page.locator(".lobby")).to_be_visible()
    pages = [name for name in requested if re.fullmatch(r"pages/\w+\.js", name)]
    assert pages == ["pages/lobby.js"]
    await open_replays(ada)
    await expect(ada.page.get_by_role("heading", name="Replays")).to_be_visible()
    assert requested.count("pages/replays.js") == 1
    assert max(requested.count(name) for name in requested if name.endswith(".js")) == 1
    assert ada.faults == []
    await ada.page.route("**/pages/learn.js", lambda route: route.abort())
    await ada.page.get_by_role("link", name="Learn", exact=True).click()
    await expect(ada.page.get_by_role("heading")).to_have_text("This page could not be loaded")
    await ada.page.unroute("**/pages/learn.js")
    await ada.button("Try again").click()
    await expect(ada.page.locator(".lesson-card").first).to_be_visible()
    assert requested.count("pages/replays.js") == 1
    assert requested.count("pages/lobby.js") == 1
    assert requested.count("shell.js") == 3
    await ada.page.route("**/pages/replays.js", lambda route: route.fulfill(status=404), times=1)
    await ada.page.get_by_role("link", name="Replays", exact=True).click()
    await expect(ada.page.get_by_role("heading", name="Replays")).to_be_visible()
    assert requested.count("shell.js") == 4


@asynccontextmanager
async def held(page: Page, pattern: str) -> AsyncIterator[None]:
    """Holds the answers to requests until the block ends."""
    released = asyncio.Event()

    async def wait(route: Route) -> None:
        await released.wait()
        await route.continue_()

    await page.route(pattern, wait)
    yield
    released.set()


async def test_a_room_appears_with_all_its_parts(chromium: Browser, server: ServerProcess) -> None:
    """The page waits for the invitation, and for what an AI's room shows: neither appears late.

    A match between two people loads nothing of them, and has what concerns the opponent before it
    is needed.
    """
    ada, bob, cyd = [await visitor(chromium, server, phone) for phone in (False, True, False)]
    # A public room: the page of an unlisted one names the invitation, whatever its state.
    await ada.open_room("tic-tac-toe", OpenSeat(), visibility="public")
    room = ada.page.url
    async with held(bob.page, "**/pages/room/invitation.js"):
        await bob.page.goto(room)
        await expect(bob.page).to_have_title(re.compile("Tic-tac-toe"))
        await expect(bob.page.get_by_text("Joining the room…")).to_be_visible()
        await expect(bob.board).to_have_count(0)
    await bob.button("Play").click()
    await ada.play("b2")
    requested: list[str] = []
    cyd.page.on("request", lambda request: requested.append(request.url))
    async with cyd.page.expect_response("**/pages/room/opponent.js"):
        await cyd.page.goto(room)
    await expect(cyd.board).to_be_visible()
    unneeded = re.compile(r"/thinking|/invitation\.js|/strategies\.js")
    assert [url for url in requested if unneeded.search(url)] == []
    await ada.open_room("tic-tac-toe", AiSeat(1))
    async with held(cyd.page, "**/pages/room/thinking.js"):
        await cyd.page.goto(ada.page.url)
        await expect(cyd.page).to_have_title(re.compile("Tic-tac-toe"))
        await expect(cyd.page.get_by_text("Joining the room…")).to_be_visible()
        await expect(cyd.board).to_have_count(0)
    await expect(cyd.page.locator(".thinking")).to_be_visible()
    assert [*ada.faults, *bob.faults, *cyd.faults] == []


async def test_a_room_is_played_without_a_part_that_does_not_arrive(
    chromium: Browser, server: ServerProcess
) -> None:
    """The page says that a part is missing, and the match goes on; after a reload it is there."""
    ada = await visitor(chromium, server)
    await ada.page.route("**/pages/room/thinking.js", lambda route: route.abort())
    await ada.open_room("tic-tac-toe", AiSeat(1))
    await expect(ada.page.locator(".toast")).to_contain_text("Plyroom has been updated")
    await ada.play("b2")
    await expect(ada.page.locator(".thinking")).to_have_count(0)
    await ada.page.unroute("**/pages/room/thinking.js")
    await ada.button("Load the page again").click()
    await expect(ada.page.locator(".thinking")).to_be_visible()
    await expect(ada.page.locator(".toast")).to_have_count(0)


async def test_the_chat_scrolls_without_its_extras(
    chromium: Browser, server: ServerProcess
) -> None:
    """Without the part that draws links and answers the newest line stays in view."""
    ada = await visitor(chromium, server, phone=True)
    await ada.page.route("**/pages/room/chat-extras.js", lambda route: route.abort())
    await ada.open_room("tic-tac-toe", AiSeat(1))
    await expect(ada.page.locator(".toast")).to_contain_text("Plyroom has been updated")
    await ada.button("Dismiss").click()
    await ada.page.set_viewport_size({"width": 390, "height": 500})
    await ada.open_tab("Chat")
    for number in range(3):
        await ada.chat(f"line {number} {'of many words ' * 25}")
        await ada.wait_for_chat(f"line {number}")
    lines = ada.page.locator(".chat .lines")
    assert await lines.evaluate("list => list.scrollHeight > list.clientHeight")
    await ada.until(
        """((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 2)(
            document.querySelector(".chat .lines"))"""
    )


async def test_what_is_done_before_a_part_arrives_is_not_lost(
    chromium: Browser, server: ServerProcess
) -> None:
    """A command that was begun before the part that lists commands is listed by it. Who starts
    a game on one screen before the own matches are known is asked about an unfinished one.
    """
    ada = await visitor(chromium, server)
    async with held(ada.page, "**/pages/room/chat-extras.js"):
        await ada.open_room("tic-tac-toe", AiSeat(1))
        await ada.page.locator(".chat input").press_sequentially("/he")
    await expect(ada.page.get_by_role("option", name="/help")).to_be_visible()
    await ada.create("Sticks", "One screen for two")
    async with held(ada.page, "**/api/me/matches"):
        await ada.go("/")
        await ada.button("Two on this screen").click()
        await ada.button("Sticks").click()
    await expect(ada.button("Go on")).to_be_visible()
    assert ada.faults == []


@pytest.mark.parametrize(
    ("part", "button"),
    [("ui/rules.js", "Rules of Tic-tac-toe"), ("pages/room/questions.js", "Abort")],
)
async def test_a_second_press_opens_no_second_dialog(
    chromium: Browser, server: ServerProcess, part: str, button: str
) -> None:
    """Who presses a button again while its part is on its way has one dialog to close."""
    ada = await visitor(chromium, server)
    await ada.open_room("tic-tac-toe", AiSeat(1))
    async with held(ada.page, f"**/{part}"):
        for _ in range(2):
            await ada.button(button).click()
    await expect(ada.page.get_by_role("dialog")).to_be_visible()
    await ada.page.keyboard.press("Escape")
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)


LATER_PARTS = {
    "pages/room/chat-commands.js": lambda page: page.locator(".chat input").press_sequentially(
        "/h"
    ),
    "ui/rules.js": lambda page: page.locator(".rules-button").click(),
    "pages/room/questions.js": lambda page: page.get_by_role("button", name="Abort").click(),
}


@pytest.mark.parametrize("name", LATER_PARTS)
async def test_a_part_that_is_missing_since_an_update(
    chromium: Browser, server: ServerProcess, name: str
) -> None:
    """A page that was opened before an update says what helps where a later part is missing.

    While the connection is lost, it says that the server did not answer.
    """
    ada = await visitor(chromium, server)
    await ada.open_room("tic-tac-toe", AiSeat(1))
    await expect(ada.page.locator(".thinking")).to_be_visible()
    await ada.play("b2")
    await ada.page.route(f"**/{name}", lambda route: route.fulfill(status=404))
    await LATER_PARTS[name](ada.page)
    await expect(ada.page.locator(".toast")).to_contain_text("Plyroom has been updated")
    await ada.page.unroute(f"**/{name}")
    async with ada.page.expect_event("domcontentloaded"):
        await ada.button("Load the page again").click()
    await expect(ada.page.locator(".thinking")).to_be_visible()
    await expect(ada.page.locator(".toast")).to_have_count(0)
    await LATER_PARTS[name](ada.page)
    await expect(ada.page.locator("dialog[open], .commands").first).to_be_visible()
    if name != "ui/rules.js":
        return
    await ada.reload()
    await expect(ada.page.locator(".thinking")).to_be_visible()
    await ada.page.route(f"**/{name}", lambda route: route.abort())
    await ada.page.context.set_offline(True)
    await expect(ada.banner).to_be_visible()
    await LATER_PARTS[name](ada.page)
    await expect(ada.page.locator(".toast")).to_contain_text("The server did not answer")


async def test_pages_recover_when_the_server_is_back(chromium: Browser, tmp_path: Path) -> None:
    """While the server is away, an open page keeps its content below the banner.

    A page that is opened then says that it has no data, and loads it when the server is back.
    """
    async with serving(tmp_path / "data") as server:
        ada = await visitor(chromium, server, phone=True)
        await ada.go("/")
        await open_replays(ada)
        await expect(ada.page.get_by_text("No public match is over yet.")).to_be_visible()
        await ada.page.get_by_role("link", name="Lobby", exact=True).click()
        await expect(ada.page.locator(".lobby")).to_be_visible()
        bob = await visitor(chromium, server)
        await bob.go("/")
        await expect(bob.page.locator(".thumbnail").first).to_be_visible()
        await open_replays(bob)
        await expect(bob.page.get_by_role("heading", name="Replays")).to_be_visible()
        await server.kill()
        await expect(ada.banner).to_be_visible()
        await expect(bob.banner).to_be_visible()
        await bob.page.get_by_role("link", name="Lobby", exact=True).click()
        await expect(bob.page.locator(".lobby")).to_be_visible()
        await expect(bob.button("Chess")).to_have_css("opacity", "0.45")
        await bob.button("Chess").press("Enter")
        await expect(bob.page.locator(".toast")).to_contain_text("Not connected")
        await bob.button("Dismiss").click()
        banner = await ada.banner.bounding_box()
        page = await ada.page.locator("main").bounding_box()
        assert banner is not None
        assert page is not None
        assert banner["y"] + banner["height"] <= page["y"], "the banner covers the page"
        await expect(ada.page.locator(".lobby")).to_be_visible()
        await open_replays(ada)
        await expect(ada.page.get_by_text("The matches could not be loaded.")).to_be_visible()
        await expect(ada.page.locator(".toast")).to_have_count(0)
        await server.start()
        await expect(ada.page.get_by_text("No public match is over yet.")).to_be_visible()
        await expect(ada.banner).to_have_count(0)
        await expect(bob.page.locator(".thumbnail").first).to_be_visible()


async def test_a_lost_network_is_shown_at_once(chromium: Browser, server: ServerProcess) -> None:
    """The banner is drawn with the browser's event, before any timer, and goes when it is back.

    Without a connection nobody is shown as online, and the buttons of the match are grey. They keep
    the focus, and a press says why nothing happens; a line of chat says that it waits.
    """
    ada = await visitor(chromium, server)
    await ada.open_room("connect-four", AiSeat(1))
    await ada.play("d1")
    await ada.wait_for_chat_extras()
    await ada.button("Take back").focus()
    await expect(ada.page.locator(".lag.good, .lag.slow")).to_be_visible()
    online = ada.page.locator(".player .presence.online")
    await expect(online).to_have_count(2)
    await ada.page.evaluate(
        """() => addEventListener("offline", () =>
            setTimeout(() => (window.hasBanner = document.querySelector(".banner") !== null)))"""
    )
    await ada.page.context.set_offline(True)
    await ada.until("window.hasBanner !== undefined")
    assert await ada.page.evaluate("window.hasBanner")
    await expect(online).to_have_count(0)
    takeback = ada.button("Take back")
    await expect(takeback).to_have_css("opacity", "0.45")
    await expect(takeback).to_be_focused()
    await takeback.press("Enter")
    # A part that was on its way when the network was lost has a toast, too.
    await expect(ada.page.locator(".toast", has_text="Not connected")).to_be_visible()
    await ada.chat("hello?")
    await expect(ada.page.locator(".toast").last).to_contain_text("is sent when the connection")
    await takeback.focus()
    await ada.page.context.set_offline(False)
    await expect(ada.banner).to_have_count(0)
    await expect(online).to_have_count(2)
    await expect(takeback).to_be_focused()
    await expect(takeback).to_have_css("opacity", "1")
    await ada.wait_for_chat("hello?")


async def test_an_address_without_a_page_says_so(chromium: Browser, server: ServerProcess) -> None:
    """Such an address has a page of its own with a link to the lobby, and status 404."""
    ada = await visitor(chromium, server)
    response = await ada.page.goto(f"{server.url}/no/such/page")
    assert response is not None
    assert response.status == 404
    await expect(ada.page.get_by_role("heading")).to_have_text("There is nothing here")
    await ada.page.get_by_role("link", name="To the lobby", exact=True).click()
    await expect(ada.page.locator(".lobby")).to_be_visible()


#: Parts of a search by their style sheets: what opens one, and what appears.
STYLED_PARTS = {
    "pages/glass/form.css": ("Change the search", "#glass-form[aria-label]"),
    "glass/drawing/outline.css": ("The tree as a list", ".glass-outline"),
}


@pytest.mark.parametrize("name", STYLED_PARTS)
async def test_a_part_appears_with_its_style(
    chromium: Browser, server: ServerProcess, name: str
) -> None:
    """On a slow line a part that is loaded later than its page is not seen without its style."""
    words, selector = STYLED_PARTS[name]
    ada = await visitor(chromium, server)
    part = ada.page.locator(selector).first
    await ada.go("/glass?game=tic-tac-toe&depth=2")
    async with held(ada.page, f"**/{name}"):
        async with ada.page.expect_request(f"**/{name}"):
            await ada.page.get_by_text(words, exact=True).click()
        await ada.until("document.querySelector('.glass-search .sentence')")
        for _ in range(3):  # frames, in which it would be drawn
            await ada.page.evaluate("() => new Promise(requestAnimationFrame)")
        await expect(part).to_have_count(0)
    await expect(part).to_be_visible()
