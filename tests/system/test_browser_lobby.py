"""The lobby and invitations: from the server's address to a match, alone and with a friend."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from client.connection import connect
from engine.rules.registry import game_ids, load_game
from server.commands import AiSeat, Create, MySeat, OpenSeat
from server.deploy.free_ports import free_ports
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, serving
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

#: The sizes of screens: a laptop, a smaller one, a phone, and a phone on its side.
SCREENS: dict[str, dict[str, Any]] = {
    "1280x800": DESKTOP,
    "1366x768": {"viewport": {"width": 1366, "height": 768}},
    "390x844": PHONE,
    "844x390": {**PHONE, "viewport": {"width": 844, "height": 390}},
}
#: The seats of an open room and of a match that can be watched.
SEATS = ((MySeat(), OpenSeat()), (AiSeat(1), AiSeat(1)))
#: The most elements that the lobby may have with 30 rooms.
MAX_NODES = 2500


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    """A server whose invitations contain another loopback address than the tests use."""
    (port,) = free_ports(1)
    async with serving(
        tmp_path_factory.mktemp("lobby") / "data",
        host="0.0.0.0",
        port=port,
        workers=1,
        ai_pace_ms=0,
        url=f"http://127.0.0.2:{port}",
        **NO_RATE_LIMITS,
    ) as server:
        yield server


async def click_in_view(person: Person, target: Locator) -> None:
    """Clicks an element that is in view without scrolling."""
    await expect(target).to_be_in_viewport(ratio=1)
    await target.click()
    assert await person.page.evaluate("scrollY") == 0


@pytest.mark.parametrize(
    "screen",
    [
        pytest.param(screen, id=name, marks=[pytest.mark.long] if screen is DESKTOP else [])
        for name, screen in SCREENS.items()  # 1366x768 is as wide, and lower
    ],
)
async def test_two_clicks_lead_to_a_match_against_the_ai(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any]
) -> None:
    """From the printed address, a click on a game and one on Play start a match, and no scroll is
    needed. The next time one click is enough. Axe finds nothing in the sheet.
    """
    async with people(chromium, server.url, screen) as (ada,):
        await ada.go("/")
        await expect(ada.page.locator(".door")).to_have_count(3)
        for door in await ada.page.locator(".door").all():
            await expect(door).to_be_in_viewport(ratio=1)
        await expect(ada.page.locator(".offered")).to_have_count(0)
        await click_in_view(ada, ada.button("Connect four"))
        assert await audit(ada.page) == []
        await click_in_view(ada, ada.page.locator(".sheet button.main"))
        await ada.wait_for_turn()
        await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text("AI level 1")
        await ada.go("/")
        again = ada.page.locator(".offered")
        await expect(again).to_have_text("Again: Connect four, level 1, Red: Play")
        await ada.page.locator(".mine li").wait_for()
        await assert_fits(ada, in_height=False)
        await click_in_view(ada, again)
        await ada.wait_for_turn()


async def test_a_match_is_started_by_keyboard(chromium: Browser, server: ServerProcess) -> None:
    """Enter opens a game and creates the room, and the focus is in the room then."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        await ada.button("Tic-tac-toe").focus()
        main_button = ada.page.locator(".sheet button.main")
        await ada.page.keyboard.press("Enter")
        await expect(main_button).to_be_focused()
        await ada.page.keyboard.press("Escape")
        await expect(ada.button("Tic-tac-toe")).to_be_focused()
        await ada.page.keyboard.press("Enter")
        await expect(main_button).to_be_focused()
        await ada.page.keyboard.press("Enter")
        await ada.wait_for_turn()
        await expect(ada.page.locator("main")).to_be_focused()
        await ada.page.keyboard.press("Tab")
        assert await ada.page.evaluate("document.querySelector('main').matches(':focus-within')")


async def test_a_refused_position_is_explained_once(
    chromium: Browser, server: ServerProcess
) -> None:
    """The server's refusal of a start position stands at its field only, in view. It is hidden when
    the field is left, and stands there again when the match is refused.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        await ada.button("Chess").click()
        await ada.page.get_by_text("Start from a position").click()
        field = ada.page.get_by_label("Position as text")
        await field.fill("nonsense")
        refusal = ada.page.locator(".sheet .refusal")
        await expect(refusal).to_be_in_viewport(ratio=0.95)
        await ada.page.keyboard.press("Tab")
        await expect(refusal).to_be_hidden()
        await ada.page.locator(".sheet button.main").click()
        await expect(field).to_be_focused()
        await expect(refusal).to_have_count(1)
        await expect(refusal).to_be_in_viewport(ratio=0.95)
        assert await ada.page.locator(".toast").count() == 0
        ada.faults.clear()  # the browser reports the refusals, which have status 400


async def test_the_last_choices_are_offered_again(chromium: Browser, server: ServerProcess) -> None:
    """The last three different choices are buttons, except what is open already; a game's sheet has
    its last choices.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        for level in (1, 2, 3, 2):
            await ada.create("Connect four", "The AI", level=level, side="Yellow")
        await ada.create("Hex", "A friend", side="Either")
        await ada.go("/")
        await expect(ada.page.locator(".offered")).to_have_text(
            [
                "Again: Connect four, level 2, Yellow: Play",
                "Again: Connect four, level 3, Yellow: Play",
                "Again: Connect four, level 1, Yellow: Play",
            ]
        )
        await ada.button("Connect four").click()
        for group, chosen in (("Level", "2 Novice"), ("You play", "Yellow")):
            choice = ada.page.get_by_role("group", name=group, exact=True)
            await expect(choice.locator("label:has(:checked)")).to_have_text(chosen)


async def test_a_friend_accepts_an_invitation(chromium: Browser, server: ServerProcess) -> None:
    """The host's link leads a friend to a card with the host's name, the side and a name field.

    The link has the address of PLYROOM_URL, the QR code is an image, and the board shows the start
    position. A refused name is explained at its field. A spectator may watch instead.
    """
    async with people(chromium, server.url, DESKTOP, PHONE, DESKTOP) as (ada, bob, kim):
        await ada.create("Chess", "A friend", side="White")
        card = ada.page.get_by_role("region", name="Invitation")
        await expect(card).to_contain_text("Only people with the link find this room.")
        await card.get_by_label("Your name, as your friend sees it").fill("Ada of Town")
        await card.get_by_label("Your name, as your friend sees it").press("Enter")
        await expect(card.get_by_role("button", name="Saved")).to_be_visible()
        link = card.get_by_label("Link to this room", exact=True)
        address = f"http://127.0.0.2:{server.port}/room/{ada.page.url.rpartition('/')[2]}"
        await expect(link).to_have_value(address)
        code = card.get_by_alt_text("QR code of the link")
        await code.wait_for()
        assert await code.evaluate("async image => (await image.decode(), image.naturalWidth)") > 0
        assert len(await ada.pieces()) == 32
        await expect(card.get_by_text("or put an AI here")).to_be_visible()
        assert await audit(ada.page) == []

        for friend in (bob, kim):
            await friend.page.goto(address)
            await expect(
                friend.page.get_by_role("heading", name="Ada of Town invites you to chess")
            ).to_be_visible()
            await expect(friend.page.get_by_text("You play Black.")).to_be_visible()
            await expect(friend.button("Play")).to_be_in_viewport(ratio=1)
            assert len(await friend.pieces()) == 32
        assert await audit(bob.page) == []
        await kim.button("Watch").click()
        await expect(kim.page.locator(".invite")).to_have_count(0)

        name = bob.page.get_by_role("region", name="Invitation").get_by_label("Your name")
        await name.fill("\u202e")
        await name.press("Enter")
        refusal = bob.page.locator(".refusal")
        await expect(refusal).to_be_visible()
        await expect(name).to_have_attribute("aria-invalid", "true")
        assert [fault for fault in bob.faults if "400" not in fault] == []
        bob.faults.clear()
        await name.fill("Bob of Town")
        await expect(refusal).to_have_count(0)
        await bob.button("Play").click()
        await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text("Bob of Town")
        await ada.wait_for_turn()
        for person in (ada, bob, kim):
            await expect(person.page.locator(".invite")).to_have_count(0)
        await ada.create("Hex", "A friend")
        await expect(card).to_be_visible()
        await expect(card.get_by_label("Your name")).to_have_count(0)  # it is asked once


async def test_a_stranger_leaves_the_seat_of_a_friend(
    chromium: Browser, server: ServerProcess
) -> None:
    """The host frees the seat until both have moved. The stranger reads why, also after a reload,
    and may not sit; the friend finds the invitation and plays.
    """
    async with people(chromium, server.url, PHONE, DESKTOP, DESKTOP) as (ada, eve, bob):
        await ada.create("Connect four", "A friend", side="Red", seat_for="Anyone")
        room = ada.page.url.rpartition("/")[2]
        await eve.go("/")
        line = eve.page.locator(f"[data-room='{room}']")
        await line.get_by_role("button", name="Join").click()
        await ada.play("d1")
        await ada.button("Not this person").click()
        assert await audit(ada.page) == []
        await ada.button("Free the seat").click()
        sentence = "The host keeps this seat for someone else. You may watch"
        await expect(eve.status).to_have_text(sentence)
        await eve.page.reload()
        await expect(eve.status).to_have_text(sentence)
        await expect(eve.page.locator(".invite")).to_have_count(0)
        await expect(eve.button("Sit here")).to_have_count(0)
        await expect(ada.page.get_by_label("Link to this room", exact=True).first).to_be_visible()
        await bob.page.goto(ada.page.url)
        await bob.button("Play").click()
        await ada.play("d1")
        await bob.play("e1")
        await expect(ada.button("Not this person")).to_have_count(0)
        await expect(eve.page.locator(".moves .move")).to_have_count(2)
        await bob.button("Resign").click()
        await bob.button("Resign now").click()
        await bob.page.get_by_role("link", name="Replay", exact=True).click()
        below = bob.page.locator(".table .player").last
        await expect(below).to_have_attribute("data-seat", "1")  # Bob's side, as in the match


async def test_the_doors_of_the_first_page(chromium: Browser, server: ServerProcess) -> None:
    """A door and a game are two clicks to a first move: on one screen, against the computer, and
    with a friend in a room that only the link leads to. Without a door a game asks for everything.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await kim.go("/")
        await kim.page.locator(".rooms h2").first.wait_for()
        for door, game, rival in (
            ("Two on this screen", "Tic-tac-toe", "Player 2"),
            ("Easy", "Connect four", "AI level 1"),
            ("Hard", "Hex", "AI level 6"),
        ):
            await ada.go("/")
            await ada.button(door).click()
            await expect(ada.button(door)).to_have_attribute("aria-pressed", "true")
            assert await audit(ada.page) == []
            await ada.button(game).click()
            await ada.wait_for_turn()
            await expect(ada.page.locator(".player[data-seat='1'] .who")).to_contain_text(rival)
        await ada.go("/")
        await ada.button("With a friend").click()
        await ada.button("Choices for Chess").click()
        seat = ada.page.get_by_role("group", name="The other seat is for", exact=True)
        await expect(seat.locator("label:has(:checked)")).to_have_text("My friend")
        await ada.page.keyboard.press("Escape")
        await ada.button("Chess").click()
        await ada.page.get_by_role("region", name="Invitation").wait_for()
        room = ada.page.url.rpartition("/")[2]
        await ada.go("/")
        await ada.button("Anyone may join").click()
        await ada.button("Chess").click()
        await expect(kim.page.locator(".open .game")).to_have_text(["Chess"])
        assert room not in await kim.page.content()
        assert await kim.page.locator(".games").nth(1).locator(".name").all_inner_texts() == [
            "Coin friends",
            "Rock, paper, scissors",
        ]


async def test_the_host_puts_an_ai_on_the_free_seat(
    chromium: Browser, server: ServerProcess
) -> None:
    """The host copies the link, the button says so, and an AI may take the friend's seat."""
    allowed = {**PHONE, "permissions": ["clipboard-read", "clipboard-write"]}
    async with people(chromium, server.url, allowed) as (ada,):
        await ada.create("Connect four", "A friend", side="Red")
        card = ada.page.get_by_role("region", name="Invitation")
        await card.get_by_text("Copy", exact=True).click()
        await expect(card.get_by_text("Copied", exact=True)).to_be_visible()
        assert "127.0.0.2" in await ada.page.evaluate("navigator.clipboard.readText()")
        await card.get_by_role("button", name="Add AI").click()
        await ada.wait_for_turn()
        await expect(card).to_have_count(0)


async def test_your_matches_stand_first_in_the_lobby(
    chromium: Browser, server: ServerProcess
) -> None:
    """A running match, a room that waits and a lost match are yours, also if they are unlisted."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.create("Tic-tac-toe", "The AI", level=1, side="Crosses")
        await ada.button("Resign").or_(ada.button("Abort")).click()
        await ada.page.locator(".confirm .danger").click()
        await ada.page.locator(".state.over").wait_for()
        for game, opponent in (("Sticks", "The AI"), ("Othello", "A friend")):
            await ada.go("/")
            await ada.pick("Game", game)
            await ada.pick("Against", opponent)
            if opponent == "The AI":
                await ada.pick("Who can watch", "Only with the link")
            await ada.create_room()
        await ada.go("/")
        lines = ada.page.locator(".mine li")
        await expect(lines).to_have_count(3)
        for line, texts in enumerate(
            [("Sticks", "Your turn"), ("Othello", "waits", "Invite"), ("Tic-tac-toe", "No result")]
        ):
            for text in texts:
                await expect(lines.nth(line)).to_contain_text(text)
        first = ada.page.locator(".lists section").first
        await expect(first).to_have_attribute("aria-label", "Your matches")
        await lines.first.click()
        await ada.wait_for_turn()


async def test_a_lobby_with_thirty_rooms_is_small(chromium: Browser, server: ServerProcess) -> None:
    """Thirty rooms of all games make a page of fewer than MAX_NODES elements, each with a picture.

    Before that, a lobby without rooms says what one can do.
    """
    async with people(chromium, server.url, DESKTOP) as (kim,):
        games = [game_id for game_id in game_ids() if load_game(game_id).levels]
        async with connect(server.url) as client:
            for number in range(30):
                game = games[number % len(games)]
                await client.command(Create(id=client.new_id(), game=game, seats=SEATS[number % 2]))
        await kim.go("/")
        await expect(kim.page.locator(".rooms img").nth(29)).to_be_visible()
        assert await kim.page.evaluate("document.querySelectorAll('*').length") < MAX_NODES
        broken = "images => images.filter(image => image.naturalWidth === 0).length"
        await kim.until("[...document.images].every(image => image.complete)")
        assert await kim.page.locator("img").evaluate_all(broken) == 0


async def test_the_host_lets_the_bot_help_two_people(
    chromium: Browser, server: ServerProcess
) -> None:
    """With the choice in the sheet both players have hints, and see that. Before the next match the
    host ends it: the button for a hint says why there is none then, and so does the bot.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP) as (ada, bob):
        await ada.go("/")
        await ada.pick("Game", "Tic-tac-toe")
        await ada.pick("Against", "A friend")
        await ada.pick("During the match, the bot helps with positions", "Both players")
        assert await audit(ada.page) == []
        await ada.create_room()
        await bob.page.goto(ada.page.url)
        await expect(bob.page.get_by_text("The bot may help both players.")).to_be_visible()
        await bob.button("Play").click()
        await ada.button("Hint").click()
        await expect(ada.page.locator(".hint")).to_contain_text("One of these is the best move")
        await ada.play("b2")
        await bob.play("a1")
        await ada.wait_for_turn()
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        setting = ada.page.get_by_label("The bot may help both players in the next match")
        await expect(setting).to_be_checked()
        await setting.click()
        await expect(bob.page.locator(".chat")).to_contain_text("no longer helps with positions")
        await expect(setting).not_to_be_checked()
        await bob.button("Offer a rematch").click()
        await ada.button("Accept").click()
        await bob.wait_for_turn()
        await bob.button("Hint").click()
        reason = "two people play each other without help"
        await expect(bob.page.locator(".hint")).to_contain_text(reason)
        assert await audit(bob.page) == []
        await bob.chat("/hint")
        answer = bob.page.locator(".chat .answer")
        await expect(answer).to_contain_text(reason)
