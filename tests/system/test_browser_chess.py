"""Chess in a browser: notation, claims, promotion by touch, and a flipped board."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from server.commands import OpenSeat
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, assert_no_traceback, serving
from tests.system.test_browser_pages import audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(
        tmp_path_factory.mktemp("matches") / "data", workers=1, ai_pace_ms=0
    ) as server:
        yield server
        assert_no_traceback(server)


async def move(person: Person, path: str, *, touch: bool = False, asks: bool = False) -> None:
    """Plays a move from cell to cell, "e2e4", and waits until it is listed, unless the page asks
    first which move is meant.
    """
    await person.wait_for_turn()
    listed = person.page.locator(".moves .move")
    before = await listed.count()
    for cell in (path[:2], path[2:4]):
        await (person.cell(cell).tap() if touch else person.cell(cell).click())
    if not asks:
        await listed.nth(before).wait_for(state="attached")


async def has_black_on_top(person: Person) -> bool:
    """Returns whether rank 8 is above rank 1."""
    top, bottom = [await person.cell(cell).bounding_box() for cell in ("a8", "a1")]
    assert top is not None
    assert bottom is not None
    return top["y"] < bottom["y"]


async def test_a_draw_is_claimed_and_moves_are_shown_in_chess_notation(
    chromium: Browser, server: ServerProcess
) -> None:
    """After the knights have returned twice a draw can be claimed; all pages show the notation."""
    async with people(chromium, server.url, DESKTOP, DESKTOP, DESKTOP) as (ada, bob, kim):
        await ada.open_room("chess", OpenSeat())
        await bob.page.goto(ada.page.url)
        await bob.button("Sit here").click()
        for ply, path in enumerate(("g1f3", "g8f6", "f3g1", "f6g8") * 2):
            person = (ada, bob)[ply % 2]
            await person.wait_for_turn()
            await expect(person.page.get_by_role("button", name="Claim a draw")).to_have_count(0)
            await move(person, path)
        notation = ["Nf3", "Nf6", "Ng1", "Ng8"] * 2
        await expect(ada.page.locator(".moves .move")).to_have_text(notation)
        await kim.page.goto(ada.page.url)
        await expect(kim.page.locator(".moves .move")).to_have_text(notation)
        assert [await has_black_on_top(person) for person in (ada, bob, kim)] == [True, False, True]
        await expect(bob.page.get_by_role("button", name="Claim a draw")).to_have_count(0)
        await ada.page.get_by_role("button", name="Claim a draw").click()
        for person in (ada, bob, kim):
            await expect(person.status).to_have_text("Draw: the same position 3 times")
        await kim.page.get_by_role("link", name="Replay", exact=True).click()
        await expect(kim.page.locator(".moves .move")).to_have_text(notation)
        await expect(kim.status).to_have_text("Start position")
        await kim.page.keyboard.press("End")
        await expect(kim.page.locator(".moves .number")).to_have_text(["1.", "2.", "3.", "4."])
        await expect(kim.status).to_have_text("4... Ng8 of 4 moves")
        await ada.go("/replays")  # the room is unlisted: its match is among Ada's own
        await ada.page.get_by_label("Player").select_option(label="Me")
        await expect(ada.page.locator(".matches .length")).to_have_text("4 moves")


async def test_a_pawn_is_promoted_by_touch_on_a_phone(
    chromium: Browser, server: ServerProcess
) -> None:
    """The pieces in the dialog are large enough for a finger, and axe finds no fault."""
    async with people(chromium, server.url, PHONE, PHONE) as (ada, bob):
        await ada.open_room("chess", OpenSeat())
        await bob.page.goto(ada.page.url)
        await bob.button("Sit here").tap()
        for ply, path in enumerate(
            ["a2a4", "h7h5", "a4a5", "h5h4", "a5a6", "h4h3", "a6b7", "h3g2"]
        ):
            await move((ada, bob)[ply % 2], path, touch=True)
        await move(ada, "b7a8", touch=True, asks=True)
        dialog = ada.page.get_by_role("dialog", name="Which move?")
        await expect(dialog.locator(".sprite")).to_have_count(4)
        for button in await dialog.locator("button.piece-choice").all():
            box = await button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44
        assert await audit(ada.page) == []
        await dialog.get_by_role("button", name="knight").tap()
        await expect(ada.page.locator(".moves .move").last).to_have_text("bxa8=N")
        await expect(ada.cell("a8")).to_have_attribute("aria-label", "a8, white knight, last move")
        await move(bob, "g2h1", touch=True, asks=True)
        await bob.page.get_by_role("dialog").get_by_role("button", name="Cancel").tap()
        await move(bob, "g2h1", touch=True, asks=True)
        await bob.page.get_by_role("dialog").get_by_role("button", name="queen").tap()
        await expect(bob.page.locator(".moves .move").last).to_have_text("gxh1=Q")
