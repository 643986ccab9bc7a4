"""Whole matches in real browsers, against a real server."""

import random
import re
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from engine.game import Position
from engine.rules.registry import load_game
from server.commands import AiSeat, OpenSeat
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, assert_no_traceback, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(
        tmp_path_factory.mktemp("matches") / "data", workers=1, ai_pace_ms=0
    ) as server:
        yield server
        assert_no_traceback(server)


def random_won_match(game: str, lengths: range) -> list[Position]:
    """Returns the positions of a random match of one of these lengths that a player wins."""
    for seed in count():
        rng = random.Random(seed)
        positions = [load_game(game).start()]
        while moves := positions[-1].moves():
            positions.append(positions[-1].play(rng.choice(moves)))
        outcome = positions[-1].outcome()
        is_won = outcome is not None and outcome.winner is not None
        if is_won and len(positions) - 1 in lengths:
            return positions
    raise AssertionError("unreachable")


def pieces_of(position: Position) -> dict[str, str]:
    """Returns the pieces of a position, as `Person.pieces` reads them from a board."""
    kinds = position.game.board(position.options).kinds
    return {cell: kinds[kind].name for cell, kind in position.view().pieces.items()}


def last_cell(position: Position) -> str:
    return position.view().last[-1]


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param(range(9, 12), id="short"),
        pytest.param(range(20, 43), id="long", marks=pytest.mark.long),
    ],
)
async def test_two_people_play_while_a_third_watches_and_reloads_lose_nothing(
    chromium: Browser, server: ServerProcess, lengths: range
) -> None:
    """Board, moves, chat and turn are the same after each reload; at the end all see the winner."""
    positions = random_won_match("connect-four", lengths)
    async with people(chromium, server.url, DESKTOP, DESKTOP, DESKTOP) as (ada, bob, kim):
        await ada.open_room("connect-four", OpenSeat(), visibility="public")
        for person in (bob, kim):
            await person.page.goto(ada.page.url)
            # A page whose room fills up before it is drawn warns of what it has loaded in vain.
            await person.button("Sit here").wait_for()
        await bob.button("Sit here").click()
        await expect(kim.status).to_have_text(re.compile(r"^Guest \d+ to move$"))
        for ply, position in enumerate(positions[1:], 1):
            await (ada, bob)[(ply - 1) % 2].play(last_cell(position))
            if ply == 3:
                await kim.chat("well played")
                await bob.wait_for_chat("well played")
            if ply in (4, 6, 8):
                person = {4: ada, 6: bob, 8: kim}[ply]
                await person.reload()
                await person.wait_for_pieces(pieces_of(position))
                assert len(await person.moves()) == ply
                await person.wait_for_chat("well played")
        outcome = positions[-1].outcome()
        assert outcome is not None
        assert outcome.winner is not None
        results = [f"You {'won' if outcome.winner == seat else 'lost'}" for seat in (0, 1)]
        results.append(rf".*Guest \d+.* \({('Red', 'Yellow')[outcome.winner]}\) wins")
        for person, result in zip((ada, bob, kim), results, strict=True):
            await expect(person.status).to_have_text(re.compile(f"^{result}: {outcome.reason}$"))
            await person.wait_for_pieces(pieces_of(positions[-1]))
            assert await person.moves() == [
                position.view().last[0][0] for position in positions[1:]
            ]


async def play_to_the_end(person: Person, columns: str, rng: random.Random) -> None:
    """Plays random moves in these columns against the AI until the match is over; once they are
    full, in others.
    """
    over = person.page.locator(".state.over")
    while True:
        await over.or_(person.page.locator("ply-board.playable .cell.next").first).wait_for()
        if await over.count():
            return
        free = await person.page.locator("ply-board.playable .cell.next").evaluate_all(
            "cells => cells.map(cell => cell.dataset.cell)"
        )
        # None are free where the list of moves has grown before the board.
        if free:
            await person.play(rng.choice([c for c in free if c[0] in columns] or free))


async def test_a_match_against_the_ai_can_be_watched_thinking_and_is_replayed_to_the_end(
    chromium: Browser, server: ServerProcess
) -> None:
    """The panel shows the AI's search; the match can be replayed, and each ply has its own link.

    Ada plays on the edge, so that the AI wins soon.
    """
    async with people(chromium, server.url, DESKTOP, DESKTOP) as (ada, kim):
        await ada.open_room("connect-four", AiSeat(5))
        await ada.play("d1")
        panel = ada.page.locator(".thinking")
        await expect(panel.locator("h2")).to_contain_text("Yellow, 2.")
        await expect(panel.locator(".figure.depth dd")).to_have_text(re.compile(r"^[1-9]"))
        await expect(panel.locator("tbody tr")).to_have_count(7)
        await expect(panel.locator("tr.played")).to_have_count(1)
        await play_to_the_end(ada, "ab", random.Random(3))
        moves = await ada.moves()
        await expect(ada.page.locator("ply-board .at")).to_have_count(len(moves))
        final = await ada.pieces()

        await kim.go("/replays")
        await kim.page.locator(".matches a").first.click()
        await expect(kim.status).to_have_text("Start position")
        for ply in range(1, len(moves) + 1):
            await kim.button("Next move").click() if ply % 2 else await kim.page.keyboard.press(
                "ArrowRight"
            )
            await expect(kim.status).to_have_text(f"{ply}. {moves[ply - 1]} of {len(moves)} moves")
            await expect(kim.page.locator("ply-board .at")).to_have_count(ply)
            assert kim.page.url.endswith(f"?ply={ply}")
        assert await kim.pieces() == final
        if len(moves) % 2:  # the level lets a move slip now and then, so that Ada may win
            await kim.page.keyboard.press("ArrowLeft")
        await expect(kim.page.locator(".thinking .figure.depth dd")).to_have_text(
            re.compile(r"^[1-9]")
        )
        await kim.page.keyboard.press("ArrowLeft")
        await kim.page.keyboard.press("Home")
        await expect(kim.status).to_have_text("Start position")
        await expect(kim.page.locator("ply-board .at")).to_have_count(0)
        await kim.page.keyboard.press("End")
        await expect(kim.page.locator("ply-board .at")).to_have_count(len(moves))
        await kim.page.locator(".moves .move").nth(3).click()
        await expect(kim.page.locator("ply-board .at")).to_have_count(4)

        link = kim.page.url
        await kim.go("/")
        await kim.page.goto(link)
        await expect(kim.status).to_have_text(f"4. {moves[3]} of {len(moves)} moves")
        await expect(kim.page.locator("ply-board .at")).to_have_count(4)


WATCH_DEPTHS = """panel => {
    window.depths = new Set();
    const recordDepth = () => {
        const depth = panel.querySelector(".figure.depth dd");
        if (panel.dataset.state === "searching" && depth) window.depths.add(depth.textContent);
    };
    const all = { subtree: true, childList: true, characterData: true, attributes: true };
    new MutationObserver(recordDepth).observe(panel, all);
}"""


async def test_the_panel_shows_growing_depths_while_the_ai_thinks(
    chromium: Browser, server: ServerProcess
) -> None:
    """A spectator of a strong AI sees its depth grow before it moves.

    A busy machine completes few depths within the time of a move, so it may take more moves.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await ada.open_room("gomoku", AiSeat(load_game("gomoku").levels))
        await kim.page.goto(ada.page.url)
        for person in (ada, kim):
            await person.page.locator(".thinking").evaluate(WATCH_DEPTHS)
        for plies, cell in enumerate(("h8", "a1", "a15", "o1"), 1):
            for person in (ada, kim):
                await person.page.evaluate("window.depths.clear()")
            await ada.play(cell)
            await ada.wait_for_turn()
            for person in (ada, kim):
                await expect(person.page.locator(".moves .move")).to_have_count(2 * plies)
            depths = [await person.page.evaluate("[...window.depths]") for person in (ada, kim)]
            if all(len(each) >= 2 for each in depths):
                return
        raise AssertionError(f"the depth did not grow: {depths}")


async def test_a_match_by_keyboard_only(chromium: Browser, server: ServerProcess) -> None:
    """A whole match needs no mouse; a screen reader hears each move and the result.

    Enter opens a game and creates the room, and Escape leads back to the game. The new room has the
    focus after its creation, and Tab goes on within it.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        keyboard = ada.page.keyboard
        await ada.go("/")
        await ada.button("Tic-tac-toe").wait_for()
        await tab_to(ada, ".game-card:nth-child(5) .name")
        await expect(ada.button("Tic-tac-toe")).to_be_focused()
        main_button = ada.page.locator(".sheet[open] button.main")  # a closed sheet goes later
        await keyboard.press("Enter")
        await expect(main_button).to_be_focused()
        await keyboard.press("Escape")
        await expect(ada.button("Tic-tac-toe")).to_be_focused()
        await keyboard.press("Enter")
        await expect(main_button).to_be_focused()
        await keyboard.press("Enter")
        await ada.wait_for_turn()
        await expect(ada.page.locator("main:focus")).to_have_count(1)
        await keyboard.press("Tab")
        assert await ada.page.evaluate("document.querySelector('main').matches(':focus-within')")
        over = ada.page.locator(".state.over")
        playable = ada.page.locator("ply-board.playable")
        while True:
            await expect(over.or_(playable)).to_be_visible()
            if await over.count():
                break
            ply = len(await ada.moves())
            await tab_to(ada, "[role=gridcell]")
            await focus_a_free_cell(ada)
            await keyboard.press("Enter")
            await expect(ada.page.locator(".moves .move").nth(ply)).to_be_visible()
        await expect(ada.announcement).to_have_text(re.compile(r"played .*(Draw|You (won|lost)): "))


async def tab_to(person: Person, selector: str) -> None:
    """Presses Tab until an element that matches the selector has the focus."""
    for _ in range(60):
        if await person.page.evaluate(
            "selector => document.activeElement.matches(selector)", selector
        ):
            return
        await person.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached {selector}")


async def focus_a_free_cell(person: Person) -> None:
    """Moves the focus over the board, row by row, until the focused cell can be played."""
    is_playable = "document.activeElement.getAttribute('aria-label').endsWith('can play')"
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft"):
        await person.page.keyboard.press(key)
    for step in range(9):
        if await person.page.evaluate(is_playable):
            return
        if step % 3 == 2:
            await person.page.keyboard.press("ArrowDown")
        else:
            await person.page.keyboard.press("ArrowRight" if step // 3 % 2 == 0 else "ArrowLeft")
    raise AssertionError("no free cell was found")


async def test_a_match_by_touch_on_a_phone(chromium: Browser, server: ServerProcess) -> None:
    """Two people create, join and play by touch; the board is visible without scrolling."""
    positions = random_won_match("tic-tac-toe", range(5, 10))
    async with people(chromium, server.url, PHONE, PHONE) as (ada, bob):
        await ada.go("/")
        await ada.button("Tic-tac-toe").tap()
        await ada.page.locator("label", has_text="A friend").tap()
        await ada.page.locator("label", has_text="Anyone").tap()
        await ada.button("Invite").tap()
        await ada.page.wait_for_url("**/room/*")
        await bob.go("/")
        await bob.button("Join Tic-tac-toe").tap()
        await bob.board.wait_for()
        for ply, position in enumerate(positions[1:], 1):
            person = (ada, bob)[(ply - 1) % 2]
            await person.wait_for_turn()
            await expect(person.cell(last_cell(position))).to_be_in_viewport(ratio=1)
            await person.cell(last_cell(position)).tap()
            await expect(person.page.locator(".moves .move")).to_have_count(ply)
        for person in (ada, bob):
            await expect(person.status).to_contain_text("three in a row")
            await person.wait_for_pieces(pieces_of(positions[-1]))


async def test_a_move_is_taken_back_a_draw_is_declined_and_agreed_and_rules_are_read(
    chromium: Browser, server: ServerProcess
) -> None:
    """A move is taken back once the opponent agrees, and the log says so, also after a reload.

    The opponent reads an offer of a draw as a sentence; it stays after the offering side's own
    move.

    The refusal is a toast for the offering side and a line of the log. After the agreement both
    players see the half points. The rules open over the board by keyboard, and Escape returns to
    the match.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, bob):
        await ada.open_room("connect-four", OpenSeat())
        await bob.page.goto(ada.page.url)
        await bob.button("Sit here").click()
        for person, cell in ((ada, "d1"), (bob, "d2"), (ada, "d3")):
            await person.play(cell)
        await ada.button("Ask to take back").click()
        await expect(bob.page.get_by_text("asks to take a move back.")).to_be_visible()
        await bob.button("Accept").tap()
        await ada.play("d3")
        await bob.reload()
        assert await bob.moves() == ["d", "d", "d"]
        await bob.open_tab("Chat")
        taken_back = bob.page.locator(".chat .event", has_text="took back 1 move")
        await expect(taken_back).to_have_count(1)
        await ada.button("Rules of Connect four").focus()
        await ada.page.keyboard.press("Enter")
        rules = ada.page.get_by_role("dialog", name="Connect four")
        first_line = load_game("connect-four").rules.RULES.split("\n")[0]
        await expect(rules).to_contain_text(first_line[:40])
        await ada.page.keyboard.press("Escape")
        await expect(rules).to_have_count(0)
        await expect(ada.board).to_be_visible()
        await ada.button("Offer a draw").click()
        await expect(ada.page.locator(".offer")).to_contain_text("You offered a draw.")
        await expect(bob.page.locator(".offer p")).to_have_text(re.compile("^.+ offers a draw.$"))
        await bob.button("Decline").tap()
        declined = ada.page.locator(".toast", has_text="Your draw offer was declined")
        await expect(declined).to_be_visible()
        await expect(ada.page.locator(".offer")).to_have_count(0)
        await bob.button("Offer a draw").tap()
        await expect(ada.button("Accept")).to_be_visible()
        await bob.play("e1")
        await ada.button("Accept").click()
        for person in (ada, bob):
            await expect(person.status).to_have_text("Draw: both sides agreed to it")
            await expect(person.page.locator(".player .points")).to_have_text(["½ pts", "½ pts"])
            log = person.page.locator(".chat .event")
            await expect(log.filter(has_text="declined the draw")).to_have_count(1)
            await expect(log.filter(has_text="accepted the draw")).to_have_count(1)
        # What is said of one room is not shown over the next page.
        await ada.button("Offer a rematch").click()
        await bob.button("Decline").tap()
        await expect(
            ada.page.locator(".toast", has_text="rematch offer was declined")
        ).to_be_visible()
        await ada.go_to_lobby()
        await expect(ada.page.locator(".game-card").first).to_be_visible()
        assert await ada.page.locator(".toast").count() == 0


async def test_after_a_killed_server_returns_the_match_continues_without_a_reload(
    chromium: Browser, server: ServerProcess
) -> None:
    """A banner shows the outage; moves made during it are executed once after the restart."""
    async with people(chromium, server.url, DESKTOP, DESKTOP, PHONE) as (ada, bob, kim):
        await ada.open_room("connect-four", OpenSeat())
        for person in (bob, kim):
            await person.page.goto(ada.page.url)
        await bob.button("Sit here").click()
        await ada.play("d1")
        await bob.wait_for_turn()
        for person in (ada, bob, kim):
            await expect(person.page.locator(".moves .move")).to_have_text(["d"])
            await person.page.evaluate("window.loadedOnce = true")
        await ada.wait_for_chat_extras()
        await server.kill()
        for person in (ada, bob, kim):
            await expect(person.banner).to_contain_text("Connection lost")
        await bob.cell("e1").click()
        await ada.chat("are you there?")
        await expect(ada.page.locator(".toast").last).to_contain_text("Your line is sent when")
        await server.start()
        for person in (ada, bob, kim):
            await expect(person.banner).to_have_count(0)
            await expect(person.page.locator(".moves .move")).to_have_text(["d", "e"])
            await person.wait_for_chat("are you there?")
        await ada.play("d1")
        for person in (ada, bob, kim):
            await expect(person.page.locator(".moves .move")).to_have_text(["d", "e", "d"])
            assert await person.page.evaluate("window.loadedOnce")
            person.faults[:] = [
                fault for fault in person.faults if "net::ERR_CONNECTION_" not in fault
            ]
