"""The lobby and invitations: from the server's address to a match, alone and with a friend."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from client.connection import connect
from engine.rules.registry import game_ids, load_game
from server.commands import (
    Abort,
    AddAi,
    AiSeat,
    Create,
    MySeat,
    OpenSeat,
    SeatWish,
    Visibility,
)
from server.deploy.free_ports import free_ports
from server.protocol.messages import CommandFrame
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, serving
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

#: Two laptops, a phone, and the phone on its side.
SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "laptop": ((1280, 800), (1366, 768)),
    "phone": ((844, 390), (390, 844)),
}
#: The seats of an open room and of a match that can be watched.
SEATS = ((MySeat(), OpenSeat()), (AiSeat(1), AiSeat(1)))
#: The least height of what a finger presses.
TOUCH_PX = 44
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


async def at_each_size(person: Person, screen: str) -> AsyncIterator[None]:
    """Gives the window each size of a screen in turn."""
    for width, height in SIZES[screen]:
        await person.page.set_viewport_size({"width": width, "height": height})
        yield


async def click_in_view(person: Person, target: Locator, screen: str) -> None:
    """Clicks an element that is in view without scrolling at each size of the screen."""
    async for _ in at_each_size(person, screen):
        await expect(target).to_be_in_viewport(ratio=1)
        assert await person.page.evaluate("scrollY") == 0
    await target.click()
    assert await person.page.evaluate("scrollY") == 0


@pytest.mark.parametrize("screen", SIZES)
async def test_two_clicks_lead_to_a_match_against_the_ai(
    chromium: Browser, server: ServerProcess, screen: str
) -> None:
    """From the printed address, a click on a game and one on Play start a match, and no scroll is
    needed. The next time one click is enough. Axe finds nothing in the sheet.
    """
    async with people(chromium, server.url, PHONE if screen == "phone" else DESKTOP) as (ada,):
        await ada.go("/")
        await expect(ada.page.locator(".door")).to_have_count(3)
        async for _ in at_each_size(ada, screen):
            for door in await ada.page.locator(".door").all():
                await expect(door).to_be_in_viewport(ratio=1)
        await expect(ada.page.locator(".offered")).to_have_count(0)
        await click_in_view(ada, ada.button("Connect four"), screen)
        async for _ in at_each_size(ada, screen):
            assert await audit(ada.page) == []
        await click_in_view(ada, ada.page.locator(".sheet button.main"), screen)
        await ada.wait_for_turn()
        await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text("AI level 1")
        await ada.go("/")
        again = ada.page.locator(".offered")
        await expect(again).to_have_text("Again: Connect four, level 1, Red: Play")
        await ada.page.locator(".mine li").wait_for()
        async for _ in at_each_size(ada, screen):
            await assert_fits(ada, in_height=False)
        await click_in_view(ada, again, screen)
        await ada.wait_for_turn()


async def test_a_game_is_found_and_a_refused_position_is_explained_once(
    chromium: Browser, server: ServerProcess
) -> None:
    """The lobby has a search field for games; Enter opens the first hit and creates no room.

    The server's refusal of a start position stands at its field only, in view. It is hidden when
    the field is left, and stands there again when the match is refused.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        search = ada.page.get_by_label("Find a game")
        await search.fill("stic")
        await expect(ada.page.locator(".game-card")).to_have_count(1)
        await ada.page.keyboard.press("Enter")
        await expect(ada.page.get_by_role("dialog", name="Sticks")).to_be_visible()
        assert ada.page.url.rstrip("/") == server.url
        await ada.page.keyboard.press("Escape")
        await search.fill("")
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


async def test_a_friend_accepts_an_invitation(chromium: Browser, server: ServerProcess) -> None:
    """The host's link leads a friend to a card with the host's name, the side and a name field.

    The link has the address of PLYROOM_URL, the QR code is an image, and the board shows the start
    position. The host copies the link, and the button says so. A refused name is explained at its
    field. A spectator may watch instead, under the name typed there. In the next
    room an AI takes the friend's seat.
    """
    copying = {**DESKTOP, "permissions": ["clipboard-read", "clipboard-write"]}
    async with people(chromium, server.url, copying, PHONE, DESKTOP) as (ada, bob, kim):
        await ada.open_room("chess", OpenSeat())
        card = ada.page.get_by_role("region", name="Invitation")
        await expect(card).to_contain_text("Only people with the link find this room.")
        await card.get_by_label("Your name, as your friend sees it").fill("Ada of Town")
        await card.get_by_label("Your name, as your friend sees it").press("Enter")
        await expect(card.get_by_role("button", name="Saved")).to_be_visible()
        link = card.get_by_label("Link to this room", exact=True)
        address = f"http://127.0.0.2:{server.port}/room/{ada.page.url.rpartition('/')[2]}"
        await expect(link).to_have_value(address)
        await card.get_by_role("button", name="Copy: Link to this room").click()
        await expect(ada.announcement).to_have_text("Link copied")
        await expect(card.get_by_text("Copied", exact=True)).to_be_visible()
        assert await ada.page.evaluate("navigator.clipboard.readText()") == address
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
            await expect(friend.page.locator(".invite")).to_contain_text("Attack the other king")
            await expect(friend.button("Play")).to_be_in_viewport(ratio=1)
            assert len(await friend.pieces()) == 32
        assert await audit(bob.page) == []
        await kim.page.locator(".invite").get_by_label("Your name").fill("Kim of Town")
        await kim.button("Watch").click()
        await expect(kim.page.locator(".invite")).to_have_count(0)
        await expect(kim.page.locator("header .my-name")).to_have_text("Kim of Town")

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
        await ada.open_room("hex", OpenSeat())
        await expect(card).to_be_visible()
        await expect(card.get_by_label("Your name")).to_have_count(0)  # it is asked once
        await card.get_by_role("button", name="Add AI").click()
        await expect(ada.status).to_have_text("Your turn")
        await expect(card).to_have_count(0)


async def test_a_stranger_leaves_the_seat_of_a_friend(
    chromium: Browser, server: ServerProcess
) -> None:
    """The host frees the seat until both have moved. The stranger reads why, also after a reload,
    and may not sit; the friend finds the invitation and plays.
    """
    async with people(chromium, server.url, PHONE, DESKTOP, DESKTOP) as (ada, eve, bob):
        await ada.open_room("connect-four", OpenSeat(), visibility="public")
        await eve.page.goto(ada.page.url)
        await eve.button("Sit here").click()
        await ada.play("d1")
        await ada.button("Not this person").click()
        await expect(ada.button("Free the seat")).to_be_visible()
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
        below = bob.page.locator(".replay .table .player").last
        await expect(below).to_have_attribute("data-seat", "1")  # Bob's side, as in the match


async def test_the_doors_of_the_first_page(chromium: Browser, server: ServerProcess) -> None:
    """A door and a game are two clicks to a first move: on one screen, against the computer, and
    with a friend in a room that only the link leads to. Without a door a game asks for everything.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await kim.go("/")
        await kim.page.locator(".rooms h2").first.wait_for()
        await ada.go("/")
        for door, game, rival in (
            ("Two on this screen", "Tic-tac-toe", "Player 2"),
            ("Easy", "Connect four", "AI level 1"),
            ("Hard", "Hex", "AI level 6"),
        ):
            await ada.button(door).click()
            await expect(ada.button(door)).to_have_attribute("aria-pressed", "true")
            if door != "Hard":  # its page is that of "Easy"
                assert await audit(ada.page) == []
            await ada.button(game).click()
            await ada.wait_for_turn()
            await expect(ada.page.locator(".player[data-seat='1'] .who")).to_contain_text(rival)
            await ada.go_to_lobby()
        await ada.button("With a friend").click()
        await ada.button("Choices for Chess").click()
        seat = ada.page.get_by_role("group", name="The other seat is for", exact=True)
        await expect(seat.locator("label:has(:checked)")).to_have_text("My friend")
        await ada.page.keyboard.press("Escape")
        await ada.button("Chess").click()
        await ada.page.get_by_role("region", name="Invitation").wait_for()
        room = ada.page.url.rpartition("/")[2]
        await ada.go_to_lobby()
        await ada.button("Anyone may join").click()
        await ada.button("Chess").click()
        await expect(kim.page.locator(".open .game")).to_have_text(["Chess"])
        assert room not in await kim.page.content()
        assert await kim.page.locator(".games").nth(1).locator(".name").all_inner_texts() == [
            "Coin friends",
            "Rock, paper, scissors",
        ]


async def test_your_matches_stand_first_and_your_last_choices_are_offered_again(
    chromium: Browser, server: ServerProcess
) -> None:
    """A running match, a room that waits and a lost match are yours, also if they are unlisted.

    The last three different choices are buttons, except what is open already; a game's sheet has
    its last choices.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.create("Tic-tac-toe", "The AI", level=1, side="Crosses")
        await ada.button("Resign").or_(ada.button("Abort")).click()
        await ada.page.locator(".confirm .danger").click()
        await ada.page.locator(".state.over").wait_for()
        await choose(ada, "Sticks", "The AI", {"Who can watch": "Only with the link"})
        await choose(ada, "Othello", "A friend", {"You play": "Either"})
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

        for level in ("2", "3", "2"):
            await choose(ada, "Connect four", "The AI", {"Level": level, "You play": "Yellow"})
        await ada.go("/")
        await expect(ada.page.locator(".offered")).to_have_text(
            [
                "Again: Connect four, level 2, Yellow, only with the link: Play",
                "Again: Connect four, level 3, Yellow, only with the link: Play",
                "Again: Sticks, level 1, First, only with the link: Play",
            ]
        )
        await ada.button("Connect four").click()
        for group, chosen in (("Level", "2 Novice"), ("You play", "Yellow")):
            choice = ada.page.get_by_role("group", name=group, exact=True)
            await expect(choice.locator("label:has(:checked)")).to_have_text(chosen)


async def choose(person: Person, game: str, opponent: str, choices: dict[str, str]) -> None:
    """Creates a room from another page than the lobby; `choices` are those by their group."""
    await person.go_to_lobby()
    await person.pick("Game", game)
    await person.pick("Against", opponent)
    for group, choice in choices.items():
        await person.pick(group, choice)
    await person.create_room()


async def assert_phone_leads_to_the_waiting(person: Person) -> None:
    """On a phone and a tablet the first screen says that somebody waits; a wide window need not."""
    button = person.page.get_by_role("button", name="waits for a player")
    await expect(button).to_have_count(0)
    for width, height in ((768, 1024), (390, 844)):
        await person.page.set_viewport_size({"width": width, "height": height})
        await person.page.evaluate("scrollTo(0, 0)")
        await expect(button).to_have_text("1 person waits for a player")
        await expect(button).to_be_in_viewport(ratio=1)
        assert await button.evaluate("button => button.offsetHeight") >= TOUCH_PX
        await button.click()
        await expect(person.page.locator(".rooms h2:focus")).to_have_text("Waiting for a player")
        await expect(person.page.locator(".rooms .open li").first).to_be_in_viewport(ratio=1)
    assert await audit(person.page) == []
    await person.page.set_viewport_size({"width": 1280, "height": 800})


async def test_the_lobby_shows_rooms_as_they_come_and_go_and_thirty_are_small(
    chromium: Browser, server: ServerProcess
) -> None:
    """The lobby adds and removes rooms as they change; it shows public ones only. Where they stand
    below the games, a button above these leads to those who wait.

    Thirty rooms of all games make a page of fewer than MAX_NODES elements, each with a picture.
    """
    async with people(chromium, server.url, DESKTOP) as (kim,), connect(server.url) as client:

        async def create(game: str, *seats: SeatWish, visibility: Visibility = "public") -> str:
            request = Create(client.new_id(), game=game, seats=seats, visibility=visibility)
            return (await client.command(request)).room or ""

        await kim.go("/")
        await kim.page.locator(".rooms h2").first.wait_for()
        room = await create("sticks", *SEATS[0])
        await expect(kim.page.locator(f"[data-room='{room}']")).to_contain_text("Sticks")
        await expect(kim.page.locator(f".open [data-room='{room}']")).to_be_visible()
        await assert_phone_leads_to_the_waiting(kim)
        await client.command(CommandFrame(room, AddAi(client.new_id(), seat=1, level=1)))
        playing = kim.page.locator(f".playing [data-room='{room}']")
        await expect(playing).to_be_visible()
        await expect(playing.get_by_text("Watch")).to_have_css("border-style", "solid")
        await client.command(CommandFrame(room, Abort(client.new_id())))
        await expect(kim.page.locator(f"[data-room='{room}']")).to_have_count(0)
        await kim.page.set_viewport_size({"width": 390, "height": 844})
        await expect(kim.page.locator(".doors + .create")).to_be_visible()
        await kim.page.set_viewport_size({"width": 1280, "height": 800})
        hidden = await create("tic-tac-toe", *SEATS[0], visibility="unlisted")
        shown = await create("tic-tac-toe", *SEATS[0])
        await expect(kim.page.locator(f"[data-room='{shown}']")).to_be_visible()
        await expect(kim.page.locator(f"[data-room='{hidden}']")).to_have_count(0)

        games = [game_id for game_id in game_ids() if load_game(game_id).levels]
        for number in range(30):
            await create(games[number % len(games)], *SEATS[number % 2])
        await kim.go("/")
        await expect(kim.page.locator(".rooms img").nth(29)).to_be_visible()
        await expect(kim.page.locator(".lobby .awaited")).to_have_count(0)  # all parts have arrived
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
        await expect(ada.page.locator(".hint")).to_contain_text("seem equally good")
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
