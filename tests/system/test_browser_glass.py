"""The glass box in a real browser: a search of one's own, of a match, and two in step."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urljoin

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from server.commands import OpenSeat
from tests.support.browsers import DESKTOP, PHONE, people
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, serving
from tests.system.test_browser_pages import audit

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

#: The number of nodes that the page shows at most (docs/how-to/glass-box.md).
MAX_NODES = 20_000
#: A move of chess by its two squares, as no page writes it.
TOKEN = re.compile(r"\b[a-h][1-8][a-h][1-8]\b")
#: A move of chess as players write it.
SAN = re.compile(r"\b[NBQ]x?[a-h][1-8]")
#: The tree of the greedy friends (the founding texts, row 5).
FRIENDS = "max(A: min(10, 25, 50), B: min(5, 2, 25))"

#: The scale of the drawing before a click on the button that zooms, right after it, and in the next
#: frames.
ZOOM = """async () => {
    const world = document.querySelector("glass-tree .world");
    const scale = () => world.getAttribute("transform").split("scale")[1];
    const before = scale();
    document.querySelector("glass-tree .zoom button").click();
    const atOnce = scale();
    const frames = [];
    while (frames.length < 12)
        frames.push(await new Promise((next) => requestAnimationFrame(() => next(scale()))));
    return [before, atOnce, frames];
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    data = tmp_path_factory.mktemp("glass") / "data"
    async with serving(data, **NO_RATE_LIMITS) as server:
        yield server


async def trace_of(page: Page, request: dict[str, Any]) -> list[tuple[str, ...]]:
    """Returns the moves that lead to each node of a search, in the order of the visits."""
    response = await page.request.post(urljoin(page.url, "/api/trace"), data=request)
    assert response.ok, await response.text()
    lines: list[tuple[str, ...]] = []
    for line in (await response.text()).splitlines():
        nodes = json.loads(line).get("nodes")
        if nodes:
            for parent, move in zip(nodes["parent"], nodes["move"], strict=True):
                lines.append((*lines[parent], move) if parent >= 0 else ())
    return lines


async def marked(page: Page, side: int) -> set[int]:
    """Returns the rows of the nodes that a tree of the pair marks."""
    keys: list[str] = (
        await page.locator(".pair-side")
        .nth(side)
        .locator(".node.differs")
        .evaluate_all("nodes => nodes.map(node => node.dataset.key)")
    )
    return {row_of(key) for key in keys}


def row_of(key: str) -> int:
    """Returns the row of a drawn node."""
    return int(key.removeprefix("node "))


async def link_to_step(page: Page) -> str:
    """Returns the page's address once it has the shown step: it follows the steps after a delay."""
    position = await page.locator(".glass-controls .position").inner_text()
    step, _ = re.findall(r"\d+", position.replace(",", ""))
    await expect(page).to_have_url(re.compile(rf"step={step}\b"))
    return page.url


async def sentence(page: Page) -> str:
    """Returns what the page says about the last step."""
    return await page.locator(".glass-search .sentence").first.inner_text()


async def test_a_tree_of_ones_own(chromium: Browser, server: ServerProcess) -> None:
    """A mistake in a typed tree is named by line and column, where the caret goes by a key.

    The corrected tree is searched at once. What does not go together is greyed with its reason. A
    link opens at the same step on a phone. All this works by keyboard alone, and axe finds nothing.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await ada.go("/glass")
        text = ada.page.get_by_label("Tree as text")
        await expect(ada.page.locator(".node.finished").first).to_be_attached()
        await text.focus()
        keyboard = ada.page.keyboard
        await keyboard.press("Control+a")
        await keyboard.type("max(A: min(10, 25, 50),\nB: min(5, foo, 25))")
        mistake = ada.button("Line 2, column 11")
        await mistake.focus()
        await keyboard.press("Enter")
        await expect(text).to_be_focused()
        for _ in "foo":
            await keyboard.press("Delete")
        await keyboard.type("2")
        await expect(mistake).to_have_count(0)
        await expect(ada.page.locator(".stale, .running")).to_have_count(0)
        await expect(ada.page.locator(".glass-search .sentence")).to_contain_text("10")
        assert await audit(ada.page) == []

        await ada.page.get_by_label("Algorithm").focus()
        await keyboard.type("max-n")
        forms = ada.page.get_by_label("Written as")
        await expect(forms.locator("option", has_text="nodes (only")).to_be_disabled()
        await ada.page.get_by_label("Algorithm").focus()
        await keyboard.press("Home")
        for _ in range(4):
            await keyboard.press("ArrowDown")
        await expect(ada.page.locator(".what")).to_contain_text("fail-hard")
        await ada.page.locator("h1").click()
        for _ in range(3):
            await keyboard.press("ArrowLeft")
        await kim.page.goto(await link_to_step(ada.page))
        await expect(kim.page.locator(".glass-search .sentence")).to_have_text(
            await sentence(ada.page)
        )
        await expect(kim.page.locator(".what")).to_contain_text("fail-hard")
        assert await audit(kim.page) == []
        # Browsers report the refusals of the texts with a mistake.
        ada.faults[:] = [fault for fault in ada.faults if "400 (Bad Request)" not in fault]


async def test_a_textbook_seat_shows_its_tree(chromium: Browser, server: ServerProcess) -> None:
    """Beside the board stands the tree of the search that a strategy has made, with its value."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.create("Rock, paper, scissors", "AI against AI")
        panel = ada.page.locator(".thinking")
        await panel.locator(".search-tree summary").click()
        root = panel.locator("glass-tree .node").first
        await expect(root.locator(".value")).to_have_text("1")
        await expect(panel.locator(".sentence")).to_contain_text("values the position at 1")
        assert await audit(ada.page) == []
        await panel.get_by_role("link", name="Step through it").click()
        await expect(ada.page.locator(".what")).to_contain_text("alpha-beta, depth")


async def test_a_position_of_a_running_match(chromium: Browser, server: ServerProcess) -> None:
    """A player opens a position of their running chess match at depth 3, by one click.

    The page shows at most 20,000 nodes, and says how many there are. A spectator who has the link
    sees the same step. The position can be searched on with other moves, made on a board. A link
    leads back to the match.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP) as (ada, kim):
        await ada.open_room("chess", OpenSeat(), helps=True)
        await kim.page.goto(ada.page.url)
        await kim.page.get_by_role("button", name="Play").first.click()
        for player, source, target in ((ada, "e2", "e4"), (kim, "e7", "e5")):
            await player.wait_for_turn()
            await player.cell(source).click()
            await player.cell(target).click()
        await expect(ada.page.locator(".moves .move")).to_have_count(2)
        await ada.page.get_by_role("link", name="Open in the glass box").click()
        await expect(ada.page.locator(".what")).to_contain_text("Chess: alpha-beta, depth 3")
        await expect(ada.page.locator(".running")).to_have_count(0)
        overview = await ada.page.locator("glass-overview .at").inner_text()
        visited, all_nodes = re.findall(r"([\d,]+) of ([\d,]+) nodes", overview)[0]
        assert visited == all_nodes
        assert 500 < int(all_nodes.replace(",", "")) <= MAX_NODES
        await ada.page.get_by_text("The tree as a list", exact=True).click()
        for place in (".move-label", "glass-tree title", ".glass-outline .name"):
            shown = ada.page.locator(place)
            await expect(shown.filter(has_text=SAN).nth(2)).to_be_attached(timeout=30_000)
            await expect(shown.filter(has_text=TOKEN)).to_have_count(0, timeout=30_000)
        await expect(ada.page.locator("li.cut").filter(has_text=TOKEN)).to_have_count(0)
        await ada.button("Change the search").click()
        await ada.page.get_by_label("Depth in plies").fill("1")
        await expect(ada.page.locator(".what")).to_contain_text("Chess: alpha-beta, depth 1")
        await ada.page.locator("h1").click()
        await ada.page.keyboard.press("Home")
        for _ in range(5):
            await ada.page.keyboard.press("ArrowRight")
        await expect(ada.page).to_have_url(re.compile("step=5"))
        await kim.page.goto(ada.page.url)
        await expect(kim.page.locator(".glass-search .sentence")).to_have_text(
            await sentence(ada.page)
        )
        await ada.button("Make other moves from here").click()
        for cell in ("g1", "f3"):
            await ada.page.locator(f".move-board [role=gridcell][data-cell={cell}]").click()
        await expect(ada.page).to_have_url(re.compile("moves=g1f3"))
        await expect(ada.page.locator(".move-board")).to_contain_text("Black to move")
        await expect(ada.page.locator(".move-board .line")).to_have_text("Nf3")
        await expect(ada.page.locator(".what")).to_contain_text("Chess: alpha-beta, depth 1")
        await kim.page.get_by_role("link", name="Back to your match", exact=True).click()
        await expect(kim.page).to_have_url(re.compile(r"/room/\w+"))


async def test_a_position_of_a_stored_match(chromium: Browser, server: ServerProcess) -> None:
    """The replay of a match leads to the search of whichever position it shows, by one click."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.create("Tic-tac-toe", "One screen for two")
        for cell in ("b2", "a1", "c3"):
            await ada.play(cell)
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        await ada.page.get_by_role("link", name="Replay", exact=True).click()
        moves = ada.page.locator(".replay .moves .move")
        for key, ply in (("Home", 0), ("ArrowRight", 1), ("End", 3)):
            await expect(moves).to_have_count(3)
            await ada.page.keyboard.press(key)
            await expect(ada.page).to_have_url(re.compile(f"ply={ply}$"))
            await ada.page.get_by_role("link", name="Open in the glass box").click()
            await expect(ada.page.locator(".what")).to_contain_text("Tic-tac-toe: alpha-beta")
            await expect(ada.page).to_have_url(re.compile(f"match=\\w+&ply={ply}\\b"))
            await ada.page.go_back()


async def test_a_refusal_is_in_view_on_a_phone(chromium: Browser, server: ServerProcess) -> None:
    """A refused position is explained at its field, and another refusal at the window's edge."""
    async with people(chromium, server.url, PHONE) as (ada,):
        await ada.go("/glass?game=chess&depth=9")
        await expect(ada.button("Hide the form")).to_be_visible()  # the refusal has opened it
        failure = ada.page.locator(".failure")
        await expect(failure).to_contain_text("the limit is")
        await expect(failure).to_be_in_viewport(ratio=1)
        await ada.page.get_by_label("Position as text").fill("nonsense")
        refusal = ada.page.locator(".field.position .refusal")
        await expect(refusal).to_be_in_viewport(ratio=1)
        await expect(failure).to_have_count(0)
        assert await audit(ada.page) == []
        ada.faults.clear()  # the browser reports the refusals, which have status 400


async def test_less_motion_is_obeyed(chromium: Browser, server: ServerProcess) -> None:
    """For a reader who wants less motion the drawing zooms at once: no frame is in between."""
    still = {**DESKTOP, "reduced_motion": "reduce"}
    async with people(chromium, server.url, still) as (ada,):
        await ada.go("/learn/alpha-cut")
        # The drawing is in view once the element knows its size: a frame after its first nodes.
        await ada.page.locator("glass-tree[data-whole]").wait_for()
        before, at_once, frames = await ada.page.evaluate(ZOOM)
        assert at_once != before
        assert set(frames) == {at_once}


async def test_a_withheld_search_says_why(chromium: Browser, server: ServerProcess) -> None:
    """While the room shows the AI's thinking to nobody, the page has a sentence and no tree.

    The room has no link to the glass box, before the AI's first search either. After the match it
    has, and the tree is there.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        await ada.pick("Game", "Tic-tac-toe")
        await ada.pick("Against", "The AI")
        await ada.pick("You play", "Crosses")
        await ada.pick("During the match, the AI's thinking is shown to", "Nobody")
        await ada.create_room()
        link = ada.page.get_by_role("link", name="Open in the glass box")
        await expect(ada.page.locator(".move-card")).to_be_visible()
        assert await link.count() == 0
        await ada.play("b2")
        await expect(ada.status).to_contain_text("AI level")
        await expect(link).to_have_count(0)
        listed = await (await ada.page.request.get(f"{server.url}/api/me/matches")).json()
        match = next(each["match"] for each in listed["running"])
        await ada.open(f"/glass?match={match}&ply=0")
        refusal = ada.page.locator(".glass-status .refusal")
        await expect(refusal).to_have_text("What the AI thinks is shown after the match.")
        await expect(ada.page.locator("glass-tree")).to_have_count(0)
        assert await audit(ada.page) == []
        await ada.page.go_back()
        await ada.button("Abort").click()
        await ada.button("Abort now").click()
        await expect(link).to_be_visible()
        await ada.open(f"/glass?match={match}&ply=0")
        await expect(ada.page.locator(".what")).to_contain_text("Tic-tac-toe: alpha-beta")
        to_match = ada.page.get_by_role("link", name="The match")
        await expect(to_match).to_have_attribute("href", f"/match/{match}?ply=0")
        await expect(ada.page.locator(".node.finished").first).to_be_attached()
        # Browsers report the refusal.
        ada.faults[:] = [fault for fault in ada.faults if "403 (Forbidden)" not in fault]


async def test_two_searches_in_step(chromium: Browser, server: ServerProcess) -> None:
    """The marked nodes are exactly those that one of the two searches visits and the other skips.

    Each step leads both to the same node. A phone shows one of them at a time.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await ada.go(f"/glass?tree={quote(FRIENDS)}")
        await ada.button("Change the search").click()
        await ada.button("Alpha-beta and minimax").click()
        await expect(ada.page.locator(".pair-side")).to_have_count(2)
        left, right = [
            await trace_of(ada.page, {"tree": FRIENDS, "algorithm": name})
            for name in ("alphabeta", "minimax")
        ]
        assert len(right) == 9
        sides = ada.page.locator(".pair-side")
        await expect(sides.first.locator(".difference")).to_have_count(2)
        await expect(sides.last.locator(".node.differs")).to_have_count(2)
        assert await marked(ada.page, 0) == set()
        assert {right[row] for row in await marked(ada.page, 1)} == set(right) - set(left)
        assert await audit(ada.page) == []
        await ada.page.locator("h1").click()
        await ada.page.keyboard.press("Home")
        for _ in range(4):
            await ada.page.keyboard.press("ArrowRight")
            current = ada.page.locator(".node:has([aria-current=step])")
            await expect(current).to_have_count(2)
            keys = await current.evaluate_all("nodes => nodes.map(node => node.dataset.key)")
            assert left[row_of(keys[0])] == right[row_of(keys[1])]
        await kim.page.goto(ada.page.url)
        await expect(kim.page.locator(".pair-side")).to_have_count(1)
        await kim.button("minimax").click()
        await expect(kim.page.locator(".pair-side")).to_have_attribute("aria-label", "minimax")
        assert await audit(kim.page) == []
