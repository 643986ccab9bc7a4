"""What an AI thinks in a real browser: in words, with arrows, and only for those who may see it."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.browsers import DESKTOP, PHONE, people
from tests.support.server_process import serving
from tests.system.test_browser_pages import audit

#: Level 6 is never careless and searches several depths, once its search is compiled.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

#: Whether the bar is as high as the frame of the board, and close to its drawing.
BESIDE_BOARD = """(() => {
    const [{ top, bottom, right }, frame] = [".chance-bar", "ply-board .frame"]
        .map((each) => document.querySelector(each).getBoundingClientRect());
    const cells = 0.5 * frame.width / 8;
    const isLevel = Math.abs(top - frame.top) < 1.5 && Math.abs(bottom - frame.bottom) < 1.5;
    return isLevel && right <= frame.left && right > frame.left - 12 - cells;
})()"""


async def test_people_read_what_the_ai_thinks(chromium: Browser, tmp_path: Path) -> None:
    """A player reads the sentence, opens the picture of the search and sees a move as an arrow, by
    keyboard alone, and hides the panel.

    The host then shows the thinking to spectators only: a spectator reads it, the player reads why
    not. The replay has the words again, with the search depth by depth, and none beside a person's
    move.
    """
    async with (
        serving(tmp_path / "data", workers=1, ai_pace_ms=0) as server,
        people(chromium, server.url, DESKTOP, PHONE) as (ada, kim),
    ):
        await ada.create("Chess", "The AI", level=8, side="White")  # never careless
        await ada.wait_for_turn()
        await ada.cell("e2").click()
        await ada.play("e4")
        panel = ada.page.locator(".thinking")
        await expect(panel.locator(".sentence")).to_contain_text("Black likes ")
        await expect(panel.locator(".chance")).to_contain_text("% to win")
        await ada.wait_for_turn()
        await ada.page.locator(".chance-bar").wait_for()
        await ada.until(BESIDE_BOARD)
        size = ada.page.viewport_size
        assert size is not None
        await ada.page.set_viewport_size({"width": 700, "height": 620})
        await ada.until(BESIDE_BOARD)
        await ada.page.set_viewport_size(size)
        await expect(panel.locator("details.all-moves")).not_to_have_attribute("open", "")
        await panel.locator(".search-picture summary").focus()
        await ada.page.keyboard.press("Enter")
        picture = panel.locator(".search-picture")
        await expect(picture.locator(".searched-moves li").first).to_be_visible()
        await expect(picture).to_contain_text("a summary of the search, not its whole tree")
        link = picture.get_by_role("link", name="See a whole tree in the glass box")
        await expect(link).to_have_attribute("href", re.compile(r"^/glass\?match=\w+&ply=1$"))
        assert await audit(ada.page) == []
        room = ada.page.url
        await link.click()
        await ada.page.get_by_role("link", name="Back to your match").click()
        await expect(ada.page).to_have_url(room)
        await ada.wait_for_turn()
        await panel.locator(".search-picture summary").focus()
        await panel.locator(".candidate").first.focus()
        await expect(ada.page.locator("ply-board .arrows .shaft")).to_have_count(1)
        await ada.page.keyboard.press("Tab")
        await ada.button("Hide").click()
        await expect(panel.locator(".sentence")).to_have_count(0)
        await ada.reload()
        await expect(ada.button("Show")).to_be_visible()
        await ada.button("Show").click()
        await expect(panel.locator(".sentence")).to_contain_text("Black likes ")

        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        await panel.get_by_role("combobox").select_option("spectators only")
        await ada.button("Same again").click()
        await kim.page.goto(ada.page.url)
        await ada.wait_for_turn()
        await expect(panel).to_contain_text("only spectators see what the AI thinks")
        await expect(panel.locator(".sentence")).to_have_count(0)
        await expect(kim.page.locator(".thinking .sentence")).to_contain_text("White likes ")

        await kim.go("/replays")
        await kim.page.locator(".matches a").click()
        await expect(kim.status).to_have_text("Start position")
        await kim.page.keyboard.press("End")
        await expect(kim.page.locator(".thinking .sentence")).to_contain_text("Black likes ")
        await kim.page.get_by_role("tab", name="Thinking").click()
        await kim.page.locator(".search-picture summary").click()
        await expect(kim.page.locator(".searched-moves li").first).to_be_visible()
        depths = kim.page.locator(".depth-move")
        await expect(depths.nth(1)).to_be_visible()
        last, before, *_ = [text.split()[1] for text in await depths.all_inner_texts()]
        assert int(last) == int(before) + 1
        await depths.first.focus()
        await expect(kim.page.locator("ply-board .arrows .shaft")).to_have_count(1)
        assert await audit(kim.page) == []
        await kim.page.keyboard.press("ArrowLeft")
        await expect(kim.status).to_contain_text("1. e4")
        await expect(kim.page.locator(".thinking .sentence")).to_contain_text("Black likes ")
        await kim.page.keyboard.press("ArrowLeft")
        await expect(kim.page.locator(".thinking")).to_contain_text("Start position.")
        await expect(kim.page.locator(".thinking .sentence")).to_have_count(0)
        assert [*ada.faults, *kim.faults] == []
