"""Actions in a room besides moving: seats, names, chat, past positions, resigning, rematches."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, FloatRect, ViewportSize, expect

from client.connection import connect
from engine.rules.registry import load_game
from server.commands import AiSeat, OpenSeat
from tests.support.any_game import play_by_clicks
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving
from tests.system.test_browser_pages import audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(
        tmp_path_factory.mktemp("rooms") / "data", workers=1, ai_pace_ms=0, ai_duel_pace_ms=1500
    ) as server:
        yield server


#: The words of games' names that are cut or too wide when each game is the chosen one.
CUT_NAMES = r"""(sheet) => [...sheet.querySelectorAll(".games span")].flatMap((box) => {
    box.style.fontWeight = 600;
    const text = box.lastChild;
    const cut = [...text.data.matchAll(/\S+/g)].filter(({ 0: word, index }) => {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const { width } = range.getBoundingClientRect();
        return range.getClientRects().length > 1 || width > box.clientWidth;
    });
    box.style.fontWeight = "";
    return cut.map(([word]) => word);
})"""
#: Windows whose header has no room for the bar about another room.
NARROW: list[ViewportSize] = [
    {"width": 768, "height": 1024},
    {"width": 390, "height": 844},
    {"width": 360, "height": 600},
    {"width": 844, "height": 390},
    {"width": 900, "height": 600},
]
#: The buttons and fields of the page of which a bar that stays in view covers something when they
#: have the focus.
COVERED = """() => [...document.querySelectorAll("main :is(button, input, a)")].filter((each) => {
    each.focus();
    if (document.activeElement !== each || each.closest(".player")) return false;
    const { top, bottom, left, right } = each.getBoundingClientRect();
    return [...document.querySelectorAll(".waiting, .player:last-child")].some((bar) => {
        const box = bar.getBoundingClientRect();
        return box.top < bottom && top < box.bottom && box.left < right && left < box.right;
    });
}).map((each) => each.outerHTML)"""
#: What of an upright phone's chat has no place: the chat itself, lines that the field covers, or
#: the list of commands over the field.
CRAMPED = """() => {
    const box = (name) => document.querySelector(name)?.getBoundingClientRect();
    const field = box("#say");
    return [
        box(".chat").height < Math.min(0.33 * innerHeight, 280) - 1 && "chat",
        ...[".chat .lines", ".commands"].filter((name) => box(name)?.bottom > field.top),
    ].filter(Boolean);
}"""
#: The height of a row in the list of moves on a low window.
ROW_PX = 30


async def sit_together(
    ada: Person, bob: Person, game: str = "tic-tac-toe", time: str | None = None
) -> None:
    """Lets Ada create a room and begin, and Bob take the other seat; with a choice of time she
    creates a room of tic-tac-toe in the lobby.
    """
    if time is None:
        await ada.open_room(game, OpenSeat())
    else:
        await ada.create("Tic-tac-toe", "A friend", side="begins", time=time)
    await bob.page.goto(ada.page.url)
    await bob.button("Sit here").click()
    await ada.wait_for_turn()


async def test_chat_and_names_are_plain_text(chromium: Browser, server: ServerProcess) -> None:
    """Text that people write never becomes markup, for any viewer. Everyone sees a new name at
    once, and it survives a reload.
    """
    evil = '<img src=x onerror="window.broken=1">'
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await ada.go("/")
        await ada.page.get_by_role("button", name=re.compile("^Your name is")).click()
        await ada.page.get_by_label("Your name", exact=True).fill("<b>Ada</b><script>")
        await ada.page.keyboard.press("Enter")
        await expect(ada.page.locator(".my-name span")).to_have_text("<b>Ada</b><script>")
        mine = ada.button("Your name is <b>Ada</b><script>; change it")
        await expect(mine).to_be_visible()
        await ada.open_room("tic-tac-toe", OpenSeat())
        await kim.page.goto(ada.page.url)
        await kim.button("Sit here").click()
        await ada.chat(evil)
        await kim.wait_for_chat(evil)
        await expect(kim.page.locator(".chat p:not(.introduction) b")).to_have_text(
            "<b>Ada</b><script>"
        )
        await expect(kim.page.locator(".who").filter(has_text="Ada")).to_have_text(
            "<b>Ada</b><script>"
        )
        for person in (ada, kim):
            assert await person.page.locator("main img, main script").count() == 0
            assert await person.page.evaluate("window.broken === undefined")
        await ada.reload()
        await expect(mine).to_be_visible()


async def test_spectators_chat_the_bot_answers_and_the_host_mutes(
    chromium: Browser, server: ServerProcess
) -> None:
    """Players do not see chat among spectators, and receive all other lines.

    A player chooses a command by keyboard alone and reads the answer, which nobody else sees. The
    new guest's address is no link. The host mutes the guest for everyone, and ends that. While the
    two play without the bot's help, nothing offers a search of their position.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP, DESKTOP, DESKTOP) as group:
        ada, bob, kim, lea = group
        await sit_together(ada, bob)
        await let_spectators_chat((ada, bob), (kim, lea))
        link = ada.page.get_by_label("Link to this room", exact=True).first
        await expect(link).to_have_value(ada.page.url)
        await let_the_bot_answer(ada)
        await let_the_host_mute(ada, bob)


async def let_spectators_chat(
    players: tuple[Person, Person], spectators: tuple[Person, Person]
) -> None:
    (ada, bob), (kim, lea) = players, spectators
    for person in spectators:
        await person.page.goto(ada.page.url)
    await expect(ada.page.locator(".info .watching")).to_contain_text("2 spectators")
    await kim.page.get_by_label("To whom").select_option("to spectators")
    await kim.chat("a1 would be better")
    await lea.wait_for_chat("a1 would be better")
    await kim.page.get_by_label("To whom").select_option("to everyone")
    await kim.chat("hello")
    for person in (ada, bob):
        await person.wait_for_chat("hello")
        assert await person.page.locator(".chat .said").all_inner_texts() == ["hello"]
        assert await person.page.get_by_label("To whom").count() == 0
    await lea.page.close()
    await expect(ada.page.locator(".info .watching")).to_contain_text("1 spectator")
    await kim.page.close()


async def let_the_bot_answer(ada: Person) -> None:
    await expect(ada.page.locator(".move-card .steps, .move-card .stepper")).to_be_visible()
    await expect(ada.page.get_by_role("link", name="Open in the glass box")).to_have_count(0)
    field = ada.page.get_by_label("Say something")
    await field.focus()
    await ada.page.keyboard.type("/ru")
    await expect(ada.page.get_by_role("option", name="/rules")).to_be_visible()
    assert await audit(ada.page) == []
    await ada.page.keyboard.press("Tab")
    await expect(field).to_have_value("/rules ")
    await expect(field).to_be_focused()
    await ada.page.keyboard.press("Enter")
    answer = ada.page.locator(".chat .answer")
    await expect(answer).to_contain_text("only you see this")
    await expect(answer).to_contain_text("Crosses and noughts")
    assert await audit(ada.page) == []


async def let_the_host_mute(ada: Person, bob: Person) -> None:
    await bob.page.get_by_label("Say something").fill("see https://example.org")
    await bob.page.keyboard.press("Enter")
    line = ada.page.locator(".chat .lines p", has_text="example.org")
    await expect(line).to_be_visible()
    assert await ada.page.locator(".chat a").count() == 0
    assert await bob.page.locator(".chat .answer").count() == 0
    await line.get_by_role("button", name=re.compile("^Mute for all")).click()
    await expect(bob.page.get_by_text("The host has muted you")).to_be_visible()
    await bob.page.get_by_label("Say something").fill("hello?")
    await bob.page.keyboard.press("Enter")
    await expect(bob.page.locator("#say-error")).to_contain_text("muted you")
    await ada.page.get_by_role("button", name=re.compile("^Unmute")).click()
    await bob.page.get_by_label("Say something").fill("thank you")
    await bob.page.keyboard.press("Enter")
    await expect(ada.page.locator(".chat .lines p", has_text="thank you")).to_be_visible()


async def assert_chat_has_a_place(person: Person) -> None:
    """On upright phones the chat has its least height, its newest line is above the field, and the
    list of commands leaves in view what is typed.
    """
    field = person.page.get_by_label("Say something")
    for height in (844, 667):
        await person.page.set_viewport_size({"width": 390, "height": height})
        await person.open_tab("Chat")
        await expect(person.page.locator("#say")).to_be_in_viewport(ratio=1)
        await person.page.evaluate("scrollTo(0, 0)")
        assert await person.page.evaluate(CRAMPED) == []
        await field.press_sequentially("/")
        await expect(person.page.get_by_role("option").first).to_be_visible()
        await expect(person.page.locator("#say")).to_be_in_viewport(ratio=1)
        assert await person.page.evaluate(CRAMPED) == []
        await field.fill("")


async def test_a_hint_helps_step_by_step(chromium: Browser, server: ServerProcess) -> None:
    """By keyboard alone, each press of the button tells more in words; a move clears the hint.

    Below the three best moves the chat of a phone has its place, though the page scrolls; on its
    side they leave room for the list of moves. Without a hint a low window holds the chat, which
    has a third of it, and both players. On a tablet the board stays large beside it.
    """
    async with people(chromium, server.url, PHONE) as (ada,):
        await ada.open_room("tic-tac-toe", AiSeat(1))
        await ada.wait_for_turn()
        hint = ada.page.locator(".hint")
        await ada.button("Hint").focus()
        for text in ("seem equally good", "is as good as any", "The best moves:"):
            await ada.page.keyboard.press("Enter")
            await expect(hint).to_contain_text(text)
        await expect(ada.page.locator("ply-board .arrows rect.target").first).to_be_attached()
        assert await ada.page.locator(".actions button:focus").count() == 1
        assert await audit(ada.page) == []
        await assert_chat_has_a_place(ada)
        await ada.open_tab("Moves")
        await ada.page.set_viewport_size({"width": 844, "height": 390})
        await expect(ada.page.locator(".player").last).to_be_in_viewport(ratio=1)
        moves = ada.page.locator(".moves")
        await expect(moves).to_be_in_viewport(ratio=1)
        assert await moves.evaluate("list => list.clientHeight") >= ROW_PX
        await ada.play("b2")
        await ada.wait_for_turn()
        await expect(hint).to_have_text("")
        await expect(ada.page.locator("ply-board .arrows")).to_have_count(0)
        await ada.page.set_viewport_size({"width": 375, "height": 667})
        await ada.open_tab("Chat")
        await expect(ada.page.locator("#say")).to_be_in_viewport(ratio=1)
        await expect(ada.page.locator(".player").first).to_be_in_viewport(ratio=1)
        share = await ada.page.locator(".chat").evaluate("chat => chat.clientHeight / innerHeight")
        assert share > 0.32
        await ada.page.set_viewport_size({"width": 768, "height": 1024})
        await expect(ada.page.locator("#say")).to_be_in_viewport(ratio=1)
        heights = [
            await ada.page.locator(name).evaluate("part => part.clientHeight")
            for name in (".chat", "ply-board .board")
        ]
        assert heights[0] > 255
        assert heights[1] > 390
        await ada.page.set_viewport_size({"width": 844, "height": 320})
        await expect(ada.page.locator(".player").last).to_be_in_viewport(ratio=1)


async def propose(person: Person, game: str, minutes: str | None = None) -> None:
    """Proposes another game after a match, or starts it where nobody has to agree; with `minutes`
    that no usual clock has.
    """
    await person.button("Next game…").click()
    sheet = person.page.locator("dialog.next-game")
    await sheet.locator(".games label", has_text=game).click()
    await expect(sheet.locator(".goal")).to_have_text(
        load_game(game.lower().replace(" ", "-")).goal
    )
    await expect(sheet.get_by_role("option", name=", begins")).to_have_count(1)
    if minutes is not None:
        await sheet.get_by_label("Time").select_option("Other…")
        await sheet.get_by_label("Minutes", exact=True).fill(minutes)
        await sheet.get_by_label("Seconds a turn", exact=True).fill("0")
    assert await audit(person.page) == []
    assert await sheet.evaluate(CUT_NAMES) == []
    await sheet.locator("button.main").click()


async def resign(person: Person) -> None:
    """Resigns, after the question has been answered with no once."""
    await person.button("Resign").click()
    await person.button("Play on").click()
    await person.button("Resign").click()
    await person.button("Resign now").click()


async def told(person: Person, text: str) -> None:
    """Waits until the bar over the page says this, and checks the page."""
    await expect(person.page.locator(".waiting .go span")).to_have_text(text)
    assert await audit(person.page) == []


async def test_an_evening_of_three_games_in_one_room(
    chromium: Browser, server: ServerProcess
) -> None:
    """Five matches of two people, who agree on each, while a spectator stays. An offer reaches the
    one who has gone to another page, and one tap leads back. The score goes on over games and
    sides, a third person who sits down starts nothing, and the score is back with the pair. The
    list of the room's matches leads to a replay with the board of its own game.

    The first match and the last one have clocks, which run for the side to move on all three pages
    and move no board. The last match ends by a flag.
    """
    async with people(chromium, server.url, DESKTOP, PHONE, DESKTOP) as (ada, bob, kim):
        await sit_together(ada, bob, time="5+3")
        await kim.page.goto(ada.page.url)
        await play_with_clocks(ada, bob, kim)
        await agree_on_a_rematch(ada, bob)
        await bob.play("c3")
        await ada.play("a1")
        # On a phone the badge gives way to a score.
        await expect(bob.page.locator(".player[data-seat='0'] .badge.you")).to_be_attached()
        await resign(bob)
        await expect(bob.status).to_have_text("You lost: you resigned")
        await expect(ada.status).to_have_text(re.compile(r"^You won: Guest \d+ resigned$"))
        await play_othello_twice(ada, bob, kim)
        await bob.button("Leave the seat").click()
        await expect(ada.page.locator(".state .share input")).to_have_value(re.compile("/room/"))
        await kim.button("Sit here").click()
        await expect(ada.page.locator(".state .series")).to_have_count(0)
        await expect(ada.page.locator(".state")).to_contain_text("starts when both want it")
        await expect(ada.button("Offer a match")).to_be_visible()
        assert await audit(ada.page) == []
        # Beside all these buttons the own bar is in view on a low window.
        await ada.page.set_viewport_size({"width": 844, "height": 390})
        await expect(ada.page.get_by_role("tab").first).to_be_visible()
        await expect(ada.page.locator(".player").last).to_be_in_viewport(ratio=1)
        await ada.page.set_viewport_size({"width": 1280, "height": 800})
        await kim.button("Leave the seat").click()
        await bob.button("Sit here").click()
        await expect(ada.page.locator(".state .series b")).to_have_text(" 2 : 2 ")
        await propose(bob, "Connect four", minutes="0.05")
        await ada.button("Accept").click()
        await expect(kim.page).to_have_title(re.compile("Connect four"))
        await end_by_a_flag(ada, bob, kim)
        await kim.button("All matches").click()
        await expect(kim.page.locator("dialog.evening li")).to_have_count(5)
        assert await audit(kim.page) == []
        await kim.page.locator("dialog.evening a", has_text="Tic-tac-toe").last.click()
        await expect(kim.page.locator(".state .result")).to_contain_text("Crosses win")
        await expect(kim.cell("c3")).to_be_attached()
        await expect(kim.cell("g6")).to_have_count(0)


async def play_with_clocks(ada: Person, bob: Person, kim: Person) -> None:
    """Ada wins tic-tac-toe with five minutes and three seconds a turn."""
    board = await ada.board.bounding_box()
    await expect(ada.page.locator(".first-turn")).to_contain_text("Your first move is due")
    for number, cell in enumerate(("a1", "b1", "a2")):
        await (ada, bob)[number % 2].play(cell)
    for person in (ada, bob, kim):
        await expect(person.page.locator("[data-clock='1'] .runs .digits")).to_have_text(
            re.compile("^[45]:")
        )
        await expect(person.page.locator(".face.runs")).to_have_count(1)
    await expect(bob.page).to_have_title(re.compile(r"^Your turn [45]:\d\d "))
    await ada.button("Give 15 s to your opponent").click()
    await expect(bob.page.locator(".toast", has_text="gave you 15 seconds")).to_be_visible()
    assert await audit(bob.page) == []
    assert await ada.board.bounding_box() == board
    await bob.play("b2")
    await ada.play("a3")


async def agree_on_a_rematch(ada: Person, bob: Person) -> None:
    """Ada's offer reaches Bob in the lobby and among the replays, and he comes back."""
    name = await ada.page.locator(".my-name bdi").inner_text()
    offer = f"{name} offers a rematch of Tic-tac-toe."
    await bob.go("/")
    await ada.button("Offer a rematch").click()
    await expect(ada.page.locator(".offer")).to_contain_text("is not in the room now")
    await told(bob, offer)
    await expect(bob.page.locator(".mine li").first).to_contain_text("Offers a rematch")
    await ada.button("Withdraw").click()
    await expect(bob.page.locator(".waiting")).to_have_count(0)
    await ada.button("Offer a rematch").click()
    await expect(bob.page.locator(".waiting .go span")).to_have_text(offer)
    await bob.go("/replays")
    await told(bob, offer)
    await bob.page.locator(".waiting .go").tap()
    await bob.button("Accept").tap()
    await expect(bob.page.locator(".waiting")).to_have_count(0)


async def play_othello_twice(ada: Person, bob: Person, kim: Person) -> None:
    """Ada proposes it after a refusal, and resigns both matches."""
    await propose(ada, "Sticks")
    await bob.button("Decline").tap()
    await propose(ada, "Othello")
    await expect(kim.page.locator(".offer")).to_contain_text("proposes Othello")
    await bob.button("Accept").tap()
    for person in (ada, bob, kim):
        await expect(person.page).to_have_title(re.compile("Othello"))
        await expect(person.cell("h8")).to_be_attached()
    await ada.play("d3")
    for person, points in ((ada, "2 pts"), (bob, "0 pts")):
        await expect(person.page.locator(".player:has(.you) .points")).to_have_text(points)
    await bob.reload()
    await bob.play("c3")
    await resign(ada)
    for person, score in ((bob, " 1 : 2 "), (kim, " 2 : 1 ")):  # one's own points first
        await expect(person.page.locator(".state .series b")).to_have_text(score)
    await bob.button("Offer a rematch").tap()
    await ada.button("Accept").click()
    await bob.play("d3")
    await ada.play("c3")
    await resign(ada)
    for person in (ada, bob, kim):
        await expect(person.page.locator(".state .series b")).to_have_text(" 2 : 2 ")


async def end_by_a_flag(ada: Person, bob: Person, kim: Person) -> None:
    """Ada, who begins, is out of time after both first moves."""
    await ada.play("d1")
    await bob.play("e1")
    for person in (ada, bob, kim):
        await expect(person.status).to_contain_text("out of time")
        await expect(person.page.locator("[data-clock='0'] .digits")).to_have_text("0.0")
        await expect(person.cell("g6")).to_be_attached()
    await bob.reload()
    for person, score in ((bob, " 3 : 2 "), (kim, " 2 : 3 ")):
        await expect(person.page.locator(".state .series b")).to_have_text(score)


async def test_an_evening_goes_on_on_one_screen_and_against_the_computer(
    chromium: Browser, server: ServerProcess
) -> None:
    """Two names stay in the next game, which starts at once. The room is nobody else's, the door
    leads back into it, the lobby offers the game played next again, and its matches are among
    one's own. After a loss the level can be changed.
    """
    async with people(chromium, server.url, PHONE, DESKTOP) as (ada, kim):
        await ada.go("/")
        await ada.button("Two on this screen").click()
        await ada.page.get_by_label("Who begins").fill("Mia")
        await ada.page.get_by_label("Who is second").fill("Tom")
        assert await audit(ada.page) == []
        await ada.button("Tic-tac-toe").click()
        for cell in ("a1", "b1", "a2", "b2", "a3"):
            await ada.play(cell)
        await expect(ada.status).to_have_text(re.compile("^Mia wins: "))
        await expect(ada.page.locator(".state .series")).to_have_text("Mia 1 : 0 Tom")
        await propose(ada, "Connect four")
        await expect(ada.page.locator(".player[data-seat='0'] .who")).to_have_text("Tom")
        await ada.play("d1")
        room = ada.page.url
        await ada.go_to_lobby()
        await ada.button("Two on this screen").click()
        await ada.button("Connect four").click()
        await expect(ada.button("Go on")).to_be_visible()
        assert await audit(ada.page) == []
        await ada.button("Go on").click()
        await expect(ada.page.locator(".moves .move")).to_have_count(1)
        assert ada.page.url == room
        await kim.go("/")
        await kim.page.locator(".rooms h2").first.wait_for()
        await expect(kim.page.get_by_text("Loading the rooms")).to_have_count(0)
        assert room.rpartition("/")[2] not in await kim.page.content()
        assert "Mia" not in await (await ada.page.request.get(f"{ada.url}/api/matches")).text()
        you = await ada.page.evaluate(
            "async () => (await (await fetch('/api/guest', {method: 'POST', body: '{}',"
            " headers: {'Content-Type': 'application/json'}})).json()).identity"
        )
        await ada.go(f"/replays?player={you}")
        await expect(ada.page.locator(".matches .winner").first).to_have_text("Mia")
        await ada.page.goto(room)
        await ada.play("d2")
        await ada.until("localStorage.getItem('choices').includes('connect-four')")
        await resign(ada)
        await ada.go_to_lobby()
        again = ada.page.locator(".offered .what").first
        await expect(again).to_have_text(re.compile("^Again: Connect four on one screen"))
        await ada.open_room("tic-tac-toe", AiSeat(1))
        await ada.play("a1")
        await ada.wait_for_turn()
        await resign(ada)
        await expect(ada.button("Harder")).to_be_visible()
        await expect(ada.button("Easier")).to_have_count(0)
        await ada.button("Harder").click()
        await expect(ada.page.locator(".player[data-seat='0'] .who")).to_have_text("AI level 2")


async def test_a_player_leaves_the_seat_comes_back_and_looks_at_past_positions(
    chromium: Browser, server: ServerProcess
) -> None:
    """A player may abort before the first moves and leave the seat. The host can then put an AI on
    the seat, and remove it again after the match.

    The board keeps showing a past position when a move arrives, until the player returns.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP) as (ada, bob):
        await sit_together(ada, bob)
        await bob.button("Abort").click()
        await bob.button("Abort now").click()
        await expect(ada.status).to_have_text("The match was aborted")
        await bob.button("Leave the seat").click()
        await expect(bob.button("Sit here")).to_be_visible()
        await ada.page.get_by_label("Level, character or strategy of the AI").select_option("1")
        await ada.button("Add AI").click()
        await ada.play("b2")
        await ada.wait_for_turn()
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        await ada.button("Remove the AI").click()
        await ada.button("Remove now").click()
        await bob.button("Sit here").click()
        await ada.button("Offer a match").click()
        await bob.button("Accept").click()
        await bob.play("b2")
        await ada.play("a1")
        await ada.reload()
        await ada.page.keyboard.press("ArrowLeft")
        await expect(ada.page.locator("ply-board .at")).to_have_count(1)
        await ada.page.keyboard.press("Home")
        await expect(ada.page.locator("ply-board .at")).to_have_count(0)
        turns = ada.page.locator(".player .turn")
        await expect(turns).to_have_text(["to move now", ""])  # of the match, not of the board
        await bob.play("c3")
        await expect(ada.page.locator(".moves .move")).to_have_text(["b2", "a1", "c3"])
        await ada.wait_for_turn()
        await expect(turns).to_have_text(["", "to move now"])
        assert await ada.pieces() == {}
        await expect(ada.page.locator("ply-board.playable")).to_have_count(0)
        await ada.button("Back to the match").click()
        await expect(turns).to_have_text(["", "to move"])
        await ada.play("c1")


async def test_the_bar_about_another_room_covers_nothing_on_a_phone(
    chromium: Browser, server: ServerProcess
) -> None:
    """In a room the bar stands below the header on every narrow window, and the board stays where
    it is. What stands beside or below the board can be scrolled above it, and nothing that takes
    the focus is below it or below the viewer's own bar.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, bob):
        await sit_together(ada, bob)
        await ada.play("b2")
        await bob.play("a1")
        await bob.button("Resign").click()
        await bob.button("Resign now").click()
        await bob.open_room("chess", AiSeat(1))
        await bob.wait_for_turn()
        boards = [await place(bob, "ply-board", size) for size in NARROW]
        await ada.button("Offer a rematch").click()
        await bob.page.locator(".waiting").wait_for()
        for size, board in zip(NARROW, boards, strict=True):
            assert await place(bob, "ply-board", size) == board
            bar = await bob.page.locator(".waiting").bounding_box()
            assert bar is not None
            assert bar["y"] >= size["height"] / 2
            assert await bob.page.evaluate(COVERED) == []
        assert await audit(bob.page) == []
        await bob.button("Close").click()
        await expect(bob.page.locator(".waiting")).to_have_count(0)
        await bob.page.set_viewport_size({"width": 640, "height": 230})
        assert await bob.page.evaluate(COVERED) == []


async def place(person: Person, selector: str, size: ViewportSize) -> FloatRect | None:
    """The place of an element at the top of the page on a window of this size."""
    await person.page.set_viewport_size(size)
    await person.page.evaluate("scrollTo(0, 0)")
    return await person.page.locator(selector).bounding_box()


async def test_a_persona_takes_a_seat_and_two_ai_seats_play(
    chromium: Browser, server: ServerProcess
) -> None:
    """The form explains the persona; it plays, its seat names it, and its badge explains it.

    The host of a match of two AI seats sees both think in turn, and can flip the board and abort
    the match.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        await ada.pick("Game", "Tic-tac-toe")
        await ada.pick("Against", "The AI")
        await ada.pick("Level", "Swindler")
        about = "Picks, among the good moves, the one after which you can err most."
        await expect(
            ada.page.get_by_role("group", name="Level", exact=True).locator(".about").last
        ).to_have_text(about)
        await ada.create_room()
        await ada.play("a1")
        await ada.wait_for_turn()
        await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text("AI swindler")
        await expect(ada.page.locator(".player[data-seat='1'] .badge")).to_have_attribute(
            "title", about
        )
        await ada.go_to_lobby()
        await ada.pick("Game", "Connect four")
        await ada.pick("Against", "AI against AI")
        await ada.pick("Level of Red", "1")
        await ada.pick("Level of Yellow", "2")
        await ada.create_room()
        heading = ada.page.locator(".thinking h2")
        await expect(heading).to_contain_text(re.compile(r"Red, \d+\."))
        await expect(heading).to_contain_text(re.compile(r"Yellow, \d+\."))
        assert await ada.page.locator(".player").evaluate_all(
            "players => players.map(player => player.dataset.seat)"
        ) == ["1", "0"]
        await ada.button("Turn the board round").click()
        assert await ada.page.locator(".player").evaluate_all(
            "players => players.map(player => player.dataset.seat)"
        ) == ["0", "1"]
        await ada.button("Abort").click()
        await ada.button("Abort now").click()
        await expect(ada.status).to_have_text("The match was aborted")


async def test_a_strategy_plays_at_the_depth_that_the_host_chooses(
    chromium: Browser, server: ServerProcess
) -> None:
    """The sheet offers strategies with a depth within the server's limits. The strategy plays to
    the end, and the log of its search can be read; the next match is one click. In a room of its
    own the host puts a strategy on the free seat.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        await ada.pick("Game", "Sticks")
        await ada.pick("Against", "The AI")
        await ada.pick("Level", "Strategy")
        await ada.page.get_by_role("combobox", name="Strategy").select_option("MiniMax")
        depth = ada.page.get_by_label("Depth")
        await depth.fill("99")
        await ada.page.locator(".sheet button.main").click()
        await expect(ada.page.locator(".sheet :invalid:not(form, fieldset)")).to_have_count(1)
        await depth.fill("2")
        assert await audit(ada.page) == []
        await ada.create_room()
        await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text(
            "CP #1 MiniMax depth=2"
        )
        await play_by_clicks(ada, 100)
        await expect(ada.status).to_have_text(re.compile(r"^You (won|lost): "))
        await ada.page.locator(".search-log summary").click()
        await expect(ada.page.locator(".search-log pre")).to_contain_text("MINIMAX score")
        assert await audit(ada.page) == []
        await ada.go("/")
        await expect(ada.page.locator(".offered").first).to_have_text(
            "Again: Sticks, MiniMax depth 2, First: Play"
        )

        await ada.open_room("rock-paper-scissors", OpenSeat())
        menu = ada.page.get_by_label("Level, character or strategy of the AI")
        await menu.select_option("Random")
        await expect(depth).to_be_hidden()
        await menu.select_option("NegaMax")
        await depth.fill("4")
        await ada.button("Add AI").click()
        await expect(ada.page.locator(".player[data-seat='1'] .who")).to_have_text(
            "CP #1 NegaMax depth=4"
        )


async def test_refused_commands_and_connections_are_explained(
    chromium: Browser, tmp_path: Path
) -> None:
    """A refused command shows its reason, which can be dismissed, and changes nothing; a missing
    room is reported.

    The page shows the limit that refuses its connection and the time to try again. It connects by
    itself once the limit allows it.
    """
    limits: dict[str, Any] = {"limit_guests": 3, "limit_guests_per_minute": 1, "limit_sockets": 2}
    async with (
        serving(tmp_path / "data", rooms_burst=1, rooms_per_minute=0.001, **limits) as server,
        people(chromium, server.url, DESKTOP, DESKTOP, DESKTOP) as (ada, bob, kim),
    ):
        await be_refused_a_room(ada)
        banners = [
            person.page.get_by_role("alert").filter(has_text="Not connected")
            for person in (bob, kim)
        ]
        async with connect(server.url):
            await bob.go("/")
            await expect(banners[0]).to_contain_text(
                "your address has reached its limit of open connections (2); try again in 10 s"
            )
            await kim.go("/")
            await expect(banners[1]).to_contain_text(
                "your address may have 3 new guests at once and then 1 a minute; try again in"
            )
        await expect(banners[0]).to_have_count(0)
        await expect(bob.page.get_by_role("img", name=re.compile("^connected"))).to_be_visible()
        for person in (bob, kim):
            assert [fault for fault in person.faults if "429" not in fault] == []
            person.faults.clear()


async def be_refused_a_room(ada: Person) -> None:
    """Ada creates one room, which is all that the server allows, and another one."""
    await ada.create("Connect four", "The AI")
    await ada.go("/")
    await ada.page.locator(".offered").first.click()
    await expect(
        ada.page.get_by_role("alert").get_by_text("You create rooms too fast")
    ).to_be_visible()
    assert ada.page.url == f"{ada.url}/"
    await ada.button("Dismiss").click()
    await expect(ada.page.locator(".toast")).to_have_count(0)
    await ada.go("/room/nowhere")
    await expect(ada.page.get_by_role("heading", name="This room cannot be opened")).to_be_visible()
    await ada.page.get_by_role("link", name="Back to the lobby").click()
    await expect(ada.page.locator(".offered")).to_be_visible()
    await expect(ada.page.get_by_role("img", name=re.compile("^connected"))).to_be_visible()


@pytest.mark.parametrize(
    "screen",
    [pytest.param(DESKTOP, id="desktop", marks=pytest.mark.long), pytest.param(PHONE, id="phone")],
)
async def test_a_lost_guest_is_reported_once(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any]
) -> None:
    """With an unknown cookie the page reports the lost guest and the new guest's name.

    The message stays until the user closes it. A reload keeps the new guest and shows no message.
    """
    async with people(chromium, server.url, screen) as (ada,):
        answer = await ada.page.request.get(f"{server.url}/api/installation")
        name = f"plyroom_{(await answer.json())['installation'][:8]}"
        await ada.page.context.add_cookies(
            [{"name": name, "value": "of-a-guest-who-expired", "url": server.url}]
        )
        await ada.go("/")
        toast = ada.page.locator(".toast")
        error = ada.page.locator(".rename .field-error")
        await expect(toast).to_contain_text("Your earlier guest was not found on this server.")
        name = (await toast.inner_text()).rpartition(": ")[2].strip().removesuffix(".")
        await ada.button(f"Your name is {name}; change it").click()
        await ada.page.get_by_label("Your name", exact=True).fill("AI level 5")
        await ada.page.keyboard.press("Enter")
        await expect(error).to_be_visible()
        await ada.page.get_by_label("Your name", exact=True).blur()
        await expect(error).to_have_count(0)
        assert [fault for fault in ada.faults if "status of 400" not in fault] == []
        ada.faults.clear()
        await expect(toast).to_contain_text("Your earlier guest")
        await ada.button("Dismiss").click()
        await expect(toast).to_have_count(0)
        await ada.page.reload()
        await expect(ada.button(f"Your name is {name}; change it")).to_be_visible()
        await expect(toast).to_have_count(0)


async def test_sticks_are_taken_by_the_first_of_them_and_a_last_seed_in_the_store_moves_again(
    chromium: Browser, server: ServerProcess
) -> None:
    """The host chooses the rows; pointing at a stick marks the sticks that would be taken.

    In Kalah a player keeps the turn, each move is listed with its side, and on a phone the
    invitation leaves the free seat above the low board.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, bob):
        await ada.go("/")
        await ada.pick("Game", "Sticks")
        await ada.pick("Against", "A friend")
        await ada.pick("You play", "First")
        await ada.pick("Sticks in each row", "Other…")
        await ada.page.get_by_label("Sticks in each row", exact=True).fill("2-4")
        await ada.create_room()
        await bob.page.goto(ada.page.url)
        await bob.button("Sit here").click()
        await ada.wait_for_turn()
        await ada.cell("2.2").hover()
        await expect(ada.page.locator("ply-board .at.affected")).to_have_count(3)
        await ada.play("2.2")
        await expect(bob.page.locator("ply-board .at")).to_have_count(3)
        await bob.play("1.1")
        for person in (ada, bob):
            await expect(person.status).to_contain_text("a single stick is left")

        await sit_together(ada, bob, "kalah")
        await ada.play("c1")
        await ada.play("f1")
        await bob.wait_for_turn()
        await expect(bob.page.locator(".moves .move").nth(1)).to_have_attribute(
            "aria-label", "South, 2. f1"
        )
        for ply, cell in ((3, "e2"), (4, "a2")):
            await bob.wait_for_turn()
            await bob.cell(cell).tap()
            await expect(bob.page.locator(".moves .move")).to_have_count(ply)
        await ada.wait_for_turn()
        assert await ada.moves() == ["c1", "f1", "e2", "a2"]
        labels = await ada.page.locator(".moves .move").evaluate_all(
            "moves => moves.map((move) => move.ariaLabel)"
        )
        assert labels == ["South, 1. c1", "South, 2. f1", "North, 3. e2", "North, 4. a2"]
