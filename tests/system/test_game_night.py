"""A game night in a real browser: a host on a laptop, a friend on a phone, and a third who watches.

The host uses the keyboard alone. Each step has a test of its own in `make test`.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from engine.game import Position
from engine.rules.registry import load_game
from server.deploy.free_ports import free_ports
from server.web.links import draw_qr_code
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import serving
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

PHONE_ON_ITS_SIDE: dict[str, Any] = {**PHONE, "viewport": {"width": 844, "height": 390}}
COLUMNS = "abcdefg"


async def press(target: Locator) -> None:
    """Presses a button with the keyboard."""
    await target.press("Enter")


async def play_by_keyboard(person: Person, column: str) -> None:
    """Drops a disc with the keyboard, and waits until the move is listed."""
    await person.wait_for_turn()
    before = len(await person.moves())
    await person.cell(f"{column}1").focus()
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator(".moves .move").nth(before)).to_be_attached()


def winning_columns(moves: list[str]) -> tuple[str, ...]:
    """Returns columns for the first player, with replies between them, that end in four in a row.

    `moves` are those of the match, of which the last letter is the column.
    """
    start = load_game("connect-four").start({})
    for move in moves:
        start = start.advance(move[-1])[1]
    for column in COLUMNS:
        for replies in itertools.product(COLUMNS, repeat=3):
            line = (column, replies[0], column, replies[1], column, replies[2], column)
            if column not in replies and is_won_by(start, line):
                return line
    raise AssertionError(f"four in a row cannot be reached after {moves}")


def is_won_by(position: Position, line: tuple[str, ...]) -> bool:
    """Whether the last of these moves, and no earlier one, ends the match."""
    outcome = None
    for move in line:
        legal = {view.id for view in position.move_views()}
        if outcome is not None or move not in legal:
            return False
        _, position, outcome = position.advance(move)
    return outcome is not None


@pytest.mark.long
async def test_a_game_night(chromium: Browser, tmp_path: Path) -> None:
    """Ada invites Bob by a link that works on his phone, and Kim watches. A move is taken back, a
    draw is declined, Bob goes and comes back while the AI keeps his seat, and he loses. Each of
    them reads what has happened, also after a reload.
    """
    (port,) = free_ports(1)
    url = f"http://127.0.0.2:{port}"
    async with (
        serving(tmp_path / "data", host="0.0.0.0", port=port, url=url, workers=1) as server,
        people(chromium, server.url, DESKTOP, PHONE, PHONE_ON_ITS_SIDE) as (ada, bob, kim),
    ):
        address = await invite(ada, url)
        await accept_invitation(bob, address)
        await kim.page.goto(address)
        await kim.board.wait_for()
        await play_by_keyboard(ada, "d")
        await take_a_move_back(ada, bob)
        await decline_a_draw(ada, bob)
        await play_by_keyboard(ada, "d")
        bob = await leave_and_come_back(ada, bob, address)
        line = winning_columns(await ada.moves())
        for i, column in enumerate(line):
            if i % 2 == 0:
                await play_by_keyboard(ada, column)
            else:
                await bob.play(f"{column}1")
        await expect(ada.status).to_have_text("You won: four in a row")
        await expect(bob.status).to_have_text("You lost: four in a row")
        await expect(kim.status).to_have_text(re.compile(r"\(Red\) wins: four in a row$"))
        await kim.reload()
        for text in ("Bob took back 1 move", "Bob declined the draw", "Bob is back and plays on"):
            await kim.open_tab("Chat")
            await expect(kim.page.locator(".chat .event", has_text=text)).to_have_count(1)
        for person in (ada, bob, kim):
            await assert_fits(person, in_height=person is ada)
        assert await audit(bob.page) == []
        await press(ada.page.get_by_role("link", name="Replay", exact=True))
        moves = ada.page.locator(".replay .moves .move")
        await expect(moves).to_have_count(len(await bob.moves()))
        assert bob.faults == []


async def invite(ada: Person, url: str) -> str:
    """Lets Ada create a room, and returns its address, which the QR code contains."""
    await ada.go("/")
    await press(ada.button("Connect four"))
    await ada.page.get_by_role("radio", name="A friend").focus()
    await ada.page.keyboard.press("Space")
    await press(ada.page.locator(".sheet button.main"))
    await ada.page.wait_for_url("**/room/*")
    card = ada.page.get_by_role("region", name="Invitation")
    address = f"{url}/room/{ada.page.url.rpartition('/')[2]}"
    await expect(card.get_by_label("Link to this room", exact=True)).to_have_value(address)
    code = await card.get_by_alt_text("QR code of the link").get_attribute("src")
    response = await ada.page.request.get(f"{ada.url}{code}")
    assert await response.body() == draw_qr_code(address)
    return address


async def accept_invitation(bob: Person, address: str) -> None:
    await bob.page.goto(address)
    card = bob.page.get_by_role("region", name="Invitation")
    await card.get_by_label("Your name").fill("Bob")
    await bob.button("Play").tap()


async def take_a_move_back(ada: Person, bob: Person) -> None:
    """Bob asks to take his move back, and Ada accepts."""
    await bob.play("e1")
    await bob.button("Ask to take back").tap()
    await expect(ada.page.get_by_text("Bob asks to take a move back.")).to_be_visible()
    assert await audit(ada.page) == []
    await press(ada.button("Accept"))
    await expect(ada.page.locator(".moves .move")).to_have_count(1)
    await bob.play("a1")


async def decline_a_draw(ada: Person, bob: Person) -> None:
    await press(ada.button("Offer a draw"))
    await expect(bob.page.get_by_text("offers a draw.")).to_be_visible()
    await bob.button("Decline").tap()
    await expect(ada.page.get_by_text("Your draw offer was declined")).to_be_visible()


async def leave_and_come_back(ada: Person, bob: Person, address: str) -> Person:
    """Bob closes the tab, the AI makes a move for him, and he takes the seat back in a new one."""
    context = bob.page.context
    await bob.page.close(run_before_unload=True)
    await expect(ada.button("Let the AI play on")).to_be_visible()
    assert await audit(ada.page) == []
    await press(ada.button("Let the AI play on"))
    await ada.wait_for_turn()
    back = Person(await context.new_page(), bob.url)
    await back.page.goto(address)
    await back.button("Take your seat back").tap()
    await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text("Bob")
    return back
