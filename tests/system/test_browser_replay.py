"""A match is analysed and played differently in a real browser; the list of matches."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, TimeoutError, expect

from tests.support.browser import open_chromium
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("warm_engine"),
]

#: The moves of a person who gives the queen away: the first one of each line that is legal.
MOVES = (("e2 e4",), ("d1 h5",), ("h5 f7", "h5 g6", "a2 a3"))
#: How long a move may take until it is listed, in ms; an illegal one never is.
LISTED_MS = 2000
#: The name of a move with a mark, for screen readers.
MARKED = re.compile(r", (inaccuracy|mistake|blunder)$")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with open_chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(
        tmp_path_factory.mktemp("replay") / "data", workers=2, ai_pace_ms=0
    ) as server:
        yield server


async def play_and_resign(ada: Person) -> None:
    """Gives the queen away against the AI, resigns and opens the replay."""
    await ada.create("Chess", "The AI", level=3, side="White")
    for turn, paths in enumerate(MOVES):
        await ada.wait_for_turn()
        for path in paths:
            for cell in path.split():
                await ada.cell(cell).click()
            listed = ada.page.locator(".moves .move").nth(2 * turn)
            try:
                await listed.wait_for(timeout=LISTED_MS)
            except TimeoutError:
                await ada.page.keyboard.press("Escape")
            else:
                break
    await ada.wait_for_turn()
    await expect(ada.page.locator(".chance-bar")).to_be_visible()
    await ada.button("Resign").click()
    await ada.button("Resign now").click()
    await ada.page.get_by_role("link", name="Replay", exact=True).click()


async def test_a_match_is_analysed_and_its_worst_mistake_played_differently(
    chromium: Browser, server: ServerProcess
) -> None:
    """A player watches the analysis grow, opens the worst mistake by keyboard, steps through the
    better line and plays on from before the mistake against the AI.

    The page fits and passes axe. A second reader on a phone sees the same analysis at once.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await play_and_resign(ada)
        address = ada.page.url.partition("?")[0]
        await ada.button("Analyse this match").click()
        await expect(ada.page.locator(".analysis .progress")).to_be_visible()
        summary = ada.page.locator(".summary")
        await expect(summary).to_contain_text("Accuracy")
        await expect(ada.page.locator(".turning-point").first).to_be_visible()
        own = ada.page.locator(".moves .move[aria-label^=White]")
        blunder = own.filter(has=ada.page.locator(".mark-blunder")).first
        await expect(blunder).to_contain_text("??")
        assert await audit(ada.page) == []
        await assert_fits(ada, in_height=True)

        await ada.page.keyboard.press("End")
        await ada.page.keyboard.press("p")
        await expect(ada.page.locator(".moves .move.shown")).to_have_accessible_name(MARKED)
        await expect(ada.page.locator(".verdict")).to_contain_text("chance to win falls from")
        before = await ada.pieces()
        await ada.page.keyboard.press("b")
        line = ada.page.locator(".line-moves .move")
        await expect(line.first).to_have_attribute("aria-current", "step")
        await ada.page.keyboard.press("ArrowRight")
        await expect(line.nth(1)).to_have_attribute("aria-current", "step")
        assert await ada.pieces() != before
        assert await audit(ada.page) == []
        await ada.page.keyboard.press("Escape")
        assert await ada.pieces() == before
        await ada.page.locator(".chance-graph [role=slider]").click(position={"x": 2, "y": 40})
        await expect(ada.status).to_have_text("Start position")
        await expect(ada.page).to_have_url(f"{address}?ply=0")
        await ada.page.keyboard.press("Space")
        await expect(ada.button("Stop")).to_be_visible()
        await expect(ada.status).to_contain_text("1. e4")
        await ada.page.locator(".turning-point").last.click()
        await expect(ada.button("Play the moves")).to_be_visible()

        await blunder.click()
        await ada.page.keyboard.press("ArrowLeft")
        await expect(ada.page.locator(".verdict .mark-blunder")).to_have_count(0)
        before = await ada.pieces()
        await ada.page.keyboard.press("ArrowRight")
        await ada.button("Play it differently").click()
        await expect(ada.page.get_by_role("radio", name="White (to move)")).to_be_checked()
        await ada.button("Play").click()
        await ada.page.wait_for_url("**/room/*")
        await ada.wait_for_turn()
        assert await ada.pieces() == before
        await ada.cell("h2").click()
        await ada.play("h3")
        await ada.wait_for_turn()

        await kim.page.goto(f"{address}?ply=5")
        await kim.open_tab("Analysis")
        await expect(kim.page.locator(".summary")).to_contain_text("Accuracy")
        await assert_fits(kim, in_height=False)
        assert await audit(kim.page) == []
        assert [*ada.faults, *kim.faults] == []


async def test_the_address_filters_the_list_of_matches(
    chromium: Browser, server: ServerProcess
) -> None:
    """A choice filters the list and changes the address, which shows the same list again."""
    async with people(chromium, server.url, DESKTOP) as (ada,):

        def choice(name: str) -> Locator:
            return ada.page.get_by_role("combobox", name=name, exact=True)

        await ada.create("Tic-tac-toe", "The AI", level=1, side="Crosses")
        await ada.play("b2")
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        await ada.page.locator(".state.over").wait_for()
        await ada.go("/replays")
        row = ada.page.locator(".matches li")
        await row.first.wait_for()
        await choice("Player").select_option("Me")
        await choice("Result").select_option("Won")
        await expect(ada.page.get_by_text("No finished match fits this filter.")).to_be_visible()
        await choice("Result").select_option("Lost")
        await expect(row).to_have_count(1)
        await expect(ada.page).to_have_url(re.compile(r"/replays\?player=\w+&result=lost$"))
        assert await audit(ada.page) == []
        await ada.page.reload()
        await expect(row).to_have_count(1)
        await expect(choice("Result")).to_have_value("lost")
        await choice("Length").select_option("Over 60 plies")
        await expect(row).to_have_count(0)
        await ada.button("Show all").click()
        await row.first.wait_for()
        assert ada.faults == []
