"""A player who leaves and comes back, and people who write too much, in a real browser."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize, expect

from server.commands import OpenSeat
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    """A server on which a match can be claimed at once after a closed page, never after a crash."""
    async with serving(
        tmp_path_factory.mktemp("gone") / "data",
        workers=1, ai_pace_ms=0, page_closed_ms=1, gone_ms=10**9,
    ) as server:  # fmt: skip
        yield server


async def set_name(person: Person, name: str) -> None:
    await person.page.get_by_role("button", name=re.compile("^Your name is")).click()
    field = person.page.get_by_role("banner").get_by_role("textbox", name="Your name")
    await field.fill(name)
    await person.page.keyboard.press("Enter")
    await expect(person.button(f"Your name is {name}; change it")).to_be_visible()


#: A phone on its side.
LOW: ViewportSize = {"width": 844, "height": 390}


async def sit_together(ada: Person, bob: Person) -> None:
    """Lets Ada create a room and begin, and Bob take the other seat."""
    await ada.open_room("tic-tac-toe", OpenSeat())
    await set_name(ada, "Ada")
    await bob.page.goto(ada.page.url)
    await set_name(bob, "Bob")
    await bob.button("Play").click()
    await ada.wait_for_turn()


async def test_the_ai_keeps_the_seat_of_a_player_who_comes_back(
    chromium: Browser, server: ServerProcess
) -> None:
    """Bob closes the tab; Ada waits, then lets the AI play on; Bob comes back, takes the seat with
    one click, and plays. After the match the replay names both. On a low window the moves have
    room below the buttons, and after the match the bars cover nothing.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, bob):
        await sit_together(ada, bob)
        for person, cell in ((ada, "b2"), (bob, "a2"), (ada, "b1")):
            await person.play(cell)
        context = bob.page.context
        await bob.page.close(run_before_unload=True)
        await expect(ada.page.locator(".gone")).to_contain_text("Bob has gone.")
        size = ada.page.viewport_size
        assert size is not None
        await ada.page.set_viewport_size(LOW)
        await expect(ada.page.get_by_role("tab").first).to_be_visible()
        moves, bar = [
            await ada.page.locator(name).last.bounding_box() for name in (".move-card", ".player")
        ]
        assert moves is not None
        assert bar is not None
        assert moves["y"] + moves["height"] <= bar["y"]
        await expect(ada.page.locator(".player").last).to_have_css("position", "sticky")
        await ada.page.set_viewport_size(size)
        await expect(ada.page.locator(".actions .undo")).to_be_hidden()
        await ada.button("Wait").click()
        await expect(ada.page.locator(".actions .undo")).to_be_hidden()
        await expect(ada.button("Let the AI play on")).to_have_count(0)
        await ada.reload()
        await ada.button("Let the AI play on").click()
        seat = ada.page.locator(".player[data-seat='1'] .who")
        await expect(seat).to_have_text(re.compile(r"AI level \d for Bob"))
        await ada.wait_for_turn()
        back = Person(await context.new_page(), server.url)
        await back.page.goto(ada.page.url)
        await expect(back.page.locator(".gone")).to_contain_text(re.compile("plays for you"))
        await back.button("Take your seat back").click()
        await expect(seat).to_have_text("Bob")
        free = [cell for cell in ("a1", "c1", "a3", "c3") if cell not in await ada.pieces()]
        await ada.play(free[0])
        await back.wait_for_turn()
        await back.button("Resign").click()
        await back.button("Resign now").click()
        await ada.page.set_viewport_size(LOW)
        await expect(ada.page.locator(".player").last).to_have_css("position", "static")
        await ada.page.set_viewport_size(size)
        await ada.page.get_by_role("link", name="Replay", exact=True).click()
        await expect(ada.page.locator(".move-card")).to_contain_text(
            re.compile(r"AI level \d played for Bob from 4\. \w\d on\.")
        )
        await ada.go("/replays")  # the room is unlisted: its matches are among Ada's own
        await ada.page.get_by_label("Player").select_option(label="Me")
        await expect(ada.page.locator(".matches .players").first).to_contain_text(
            re.compile(r"Bob and AI level \d")
        )
        assert back.faults == []


async def test_the_win_is_claimed_with_the_keyboard_once_it_may_be(
    chromium: Browser, server: ServerProcess
) -> None:
    """Before both have moved the player may abort; on the own move the page says that the claims
    come after it, and shows them then. The claim is a button like any other; the result says who
    left.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP) as (ada, bob):
        await sit_together(ada, bob)
        context, gone = bob.page.context, ada.page.locator(".gone")
        await bob.page.close(run_before_unload=True)
        await expect(gone).to_have_text("Bob has gone. You may abort the match.")
        back = Person(await context.new_page(), server.url)
        await back.page.goto(ada.page.url)
        await ada.play("b2")
        await back.play("a2")
        await back.page.close(run_before_unload=True)
        await expect(gone).to_have_text("Bob has gone. You may claim the match after your move.")
        await expect(ada.page.locator(".actions .undo")).to_be_hidden()  # nobody would answer
        await ada.play("b1")
        await ada.button("Claim the win").press("Enter")
        await expect(ada.status).to_have_text("You won: Bob left the match")
        await expect(ada.page.get_by_role("link", name="Replay", exact=True)).to_be_visible()


async def test_people_of_one_name_and_people_who_repeat_themselves(
    chromium: Browser, server: ServerProcess
) -> None:
    """A second Ada is marked on her seat and in the chat; a repeated line is refused with a
    sentence; a muted person's lines disappear, also after a reload, until they are shown again. A
    player who changes the name in another tab has it on the seat, for everyone.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP) as (ada, other):
        await sit_together(ada, other)
        await set_name(other, "ada")
        seat = ".player[data-seat='1'] .who"
        await expect(ada.page.locator(seat)).to_have_text("ada (2)")
        await other.chat("hello")
        await ada.wait_for_chat("hello")
        await expect(ada.page.locator(".chat p:has(.said) > b")).to_have_text("ada (2)")
        await other.chat("hello")
        await expect(other.page.locator(".chat .field-error")).to_have_text(
            "You have just said that; say something else"
        )
        await ada.button("Mute ada (2)").press("Enter")
        await expect(ada.page.locator(".chat .said")).to_have_count(0)
        await ada.reload()
        await expect(ada.page.locator(".muted-person")).to_contain_text("what ada (2) writes")
        await expect(ada.page.locator(".chat .said")).to_have_count(0)
        await ada.button("Show it").click()
        await ada.wait_for_chat("hello")
        lobby = Person(await other.page.context.new_page(), server.url)
        await lobby.go("/")
        await set_name(lobby, "Roberta")
        for person in (ada, other):
            await expect(person.page.locator(seat)).to_have_text("Roberta")
        assert lobby.faults == []
