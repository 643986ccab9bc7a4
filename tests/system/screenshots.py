"""Takes screenshots of every page and state, on all sizes of screen, light and dark.

    python -m tests.system.screenshots [--only WORD] [--out FOLDER]

A new state is a function that brings a visitor's page there, and a line in STATES. The pictures of
a terminal are the TERMINAL_STATES of terminal_pictures.py.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any, Literal

import click
from playwright.async_api import Browser, Page, expect

from tests.support.any_game import play_by_clicks
from tests.support.browser import open_chromium
from tests.support.browsers import Person
from tests.support.server_process import ServerProcess, serving
from tests.system.companion_states import COMPANION_STATES
from tests.system.studio import State, Studio, play_two, show_room_with_ai
from tests.system.terminal_pictures import TERMINAL_STATES, run_to_state, take_terminal

ROOT = Path(__file__).parents[2]
#: The screens on which each state is drawn, by kind of device; the first one is for the set-up.
SCREENS: dict[str, list[tuple[int, int]]] = {
    "desktop": [(1280, 800), (768, 1024)],
    "phone": [(390, 844), (844, 390)],
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
CONTEXTS: dict[str, dict[str, Any]] = {
    "desktop": {},
    "phone": {"has_touch": True, "is_mobile": True},
}
#: Time for animations before each screenshot, in ms.
SETTLE_MS = 400


async def show_lobby(studio: Studio) -> None:
    await studio.ada.go("/")
    await expect(studio.ada.page.locator(".page.lobby .thumbnail").first).to_be_visible()


async def show_lobby_with_rooms(studio: Studio) -> None:
    for game in ("Chess", "Othello", "Hex"):
        await studio.bob.create(game, "A friend", seat_for="Anyone")
    await studio.bob.create("Connect four", "AI against AI")
    await show_lobby(studio)
    await expect(studio.ada.page.locator(".rooms .playing li").first).to_be_visible()


async def show_open_door(studio: Studio) -> None:
    """A first page whose games start at once, with one friend."""
    await show_lobby(studio)
    await studio.ada.button("Medium").click()


async def show_stranger(studio: Studio) -> None:
    """What the host may do when someone has sat down, before both have moved."""
    await studio.ada.create("Othello", "A friend", side="Black")
    await studio.bob.page.goto(studio.ada.page.url)
    await studio.bob.button("Play").click()
    await studio.ada.button("Not this person").wait_for()


async def show_barred(studio: Studio) -> None:
    """What the person sees for whom the seat was not meant."""
    await studio.bob.create("Othello", "A friend", side="Black")
    await studio.ada.page.goto(studio.bob.page.url)
    await studio.ada.button("Play").click()
    await studio.bob.button("Not this person").click()
    await studio.bob.button("Free the seat").click()
    await expect(studio.ada.status).to_contain_text("someone else")


async def show_names(studio: Studio) -> None:
    """The door for two on this screen, with their names."""
    await show_lobby(studio)
    await studio.ada.button("Two on this screen").click()
    await studio.ada.page.get_by_label("Who begins").fill("Mia")


async def show_unfinished(studio: Studio) -> None:
    """The question whether to go on with a match on one screen."""
    await show_names(studio)
    await studio.ada.button("Othello").click()
    await studio.ada.wait_for_turn()
    await show_names(studio)
    await studio.ada.button("Othello").click()
    await studio.ada.button("Go on").wait_for()


async def leave_for_offer(studio: Studio, path: str) -> None:
    """The opponent offers a rematch while the visitor is on another page."""
    await show_win(studio)
    await studio.ada.go(path)
    await studio.bob.button("Offer a rematch").click()
    await studio.ada.page.locator(".waiting").wait_for()


async def show_waiting(studio: Studio) -> None:
    """An offer of a rematch that reaches the lobby, which has the way back."""
    await leave_for_offer(studio, "/")
    await expect(studio.ada.page.locator(".mine li").first).to_contain_text("rematch")


async def show_waiting_in_room(studio: Studio) -> None:
    """An offer of a rematch that reaches another room."""
    await show_win(studio)
    await show_room_with_ai(studio)
    await studio.bob.button("Offer a rematch").click()
    await studio.ada.page.locator(".waiting").wait_for()


async def show_waiting_in_lesson(studio: Studio) -> None:
    await leave_for_offer(studio, "/learn/what-is-minimax")
    await studio.ada.page.locator(".runs .glass-controls").wait_for()


async def show_newcomer(studio: Studio) -> None:
    """A third person has taken the seat of the opponent after a match."""
    await show_win(studio)
    await studio.bob.button("Leave the seat").click()
    await studio.bob.page.context.clear_cookies()
    await studio.bob.page.reload()
    await studio.bob.button("Sit here").click()
    await studio.ada.button("Offer a match").wait_for()


async def show_no_hint(studio: Studio) -> None:
    """Why there is no hint between two people."""
    await play_two(studio, "Chess", "e2 e4", "e7 e5")
    await studio.ada.button("Hint").click()
    await expect(studio.ada.page.locator(".hint")).to_contain_text("two people")


async def show_refused_commands(studio: Studio) -> None:
    """The bot's commands between two people, who may have no help: what works comes first."""
    await play_two(studio, "Chess", "e2 e4", "e7 e5")
    await studio.ada.open_tab("Chat")
    await studio.ada.page.get_by_label("Say something").focus()
    await studio.ada.page.keyboard.type("/")
    await studio.ada.page.get_by_role("option").first.wait_for()


async def show_marked_hint(studio: Studio) -> None:
    """The marks of a hint on a board whose pieces are rings and crosses."""
    await studio.ada.create("Tic-tac-toe", "The AI", level=1, side="Crosses")
    await studio.ada.wait_for_turn()
    for label in ("Hint", "Show the move", "Show the best moves"):
        await studio.ada.button(label).click()
    await expect(studio.ada.page.locator(".hint")).to_contain_text("The best moves")


async def show_left(studio: Studio) -> None:
    """The other person has left the seat after a match."""
    await show_win(studio)
    await studio.bob.button("Leave the seat").click()
    await expect(studio.ada.page.locator(".state")).to_contain_text("The other seat is empty")


async def show_way_back(studio: Studio) -> None:
    """The glass box of a running match, with the way back to it."""
    await show_room_with_ai(studio)
    await studio.ada.page.get_by_role("link", name="Open in the glass box").click()
    await studio.ada.page.locator("glass-tree .node").first.wait_for()


async def show_full_bars(studio: Studio) -> None:
    """Bars with a clock, the score, men on the board and in hand: the second game of a room."""
    await play_two(studio, "Connect four", "d1", "a1", "d2", "a2", "d3", "a3", "d4", time="5+3")
    await studio.ada.page.locator(".state.won").wait_for()
    await studio.ada.button("Next game…").click()
    await studio.ada.page.locator(".next-game .games label", has_text="Nine men's morris").click()
    await studio.ada.page.locator(".next-game button.main").click()
    await studio.bob.button("Accept").click()
    for person in (studio.bob, studio.ada, studio.bob):
        await person.wait_for_turn()
        await play_by_clicks(person, 1)
    await studio.ada.wait_for_turn()


async def show_start_of_replay(studio: Studio) -> None:
    """A replay as it opens: the start position and the result."""
    await show_result(studio)
    await studio.ada.page.get_by_role("link", name="Replay", exact=True).click()
    await studio.ada.page.get_by_label("Ply", exact=True).wait_for()


async def show_sheet(studio: Studio) -> None:
    """The choices for a new match."""
    await studio.ada.go("/")
    await studio.ada.pick("Game", "Chess")
    await studio.ada.page.locator(".sheet").wait_for()


async def show_own_matches(studio: Studio) -> None:
    """A lobby with the visitor's own matches and choices."""
    await studio.ada.create("Othello", "The AI", level=2)
    await studio.ada.create("Hex", "A friend")
    await show_lobby(studio)
    await expect(studio.ada.page.locator(".mine li")).to_have_count(2)


async def show_invitation(studio: Studio) -> None:
    await studio.ada.create("Chess", "A friend")


async def show_invitation_for_guest(studio: Studio) -> None:
    """What a friend sees who has opened the link of a room."""
    await studio.bob.create("Chess", "A friend", side="White")
    await studio.ada.page.goto(studio.bob.page.url)
    await studio.ada.page.locator(".invite").wait_for()


async def show_room_with_friend(studio: Studio) -> None:
    """A match between two people, with moves and chat."""
    ada, bob = studio.ada, studio.bob
    await ada.create("Connect four", "A friend", side="Red")
    await bob.page.goto(ada.page.url)
    await bob.page.get_by_role("button", name="Play").first.click()
    for player, cell in ((ada, "d1"), (bob, "d2"), (ada, "c1"), (bob, "e1")):
        await player.play(cell)
    await bob.chat("good luck!")


async def show_result(studio: Studio) -> None:
    """A match that has just been lost by resigning."""
    await show_room_with_ai(studio)
    await studio.ada.button("Resign").click()
    await studio.ada.button("Resign now").click()
    await studio.ada.page.locator(".state.over").wait_for()


async def show_offer(studio: Studio) -> None:
    """The opponent offers a draw."""
    await play_two(studio, "Chess", "e2 e4", "e7 e5", "g1 f3")
    await studio.bob.button("Offer a draw").click()
    await studio.ada.page.locator(".offer").wait_for()


async def show_refused_offer(studio: Studio) -> None:
    """The opponent has declined a draw."""
    await play_two(studio, "Chess", "e2 e4", "e7 e5", "g1 f3")
    await studio.ada.button("Offer a draw").click()
    await studio.bob.button("Decline").click()
    await studio.ada.page.locator(".toast", has_text="declined").wait_for()


async def show_takeback(studio: Studio) -> None:
    """The visitor has asked to take a move back."""
    await play_two(studio, "Othello", "d3", "c3", "c4")
    await studio.ada.button("Ask to take back").click()
    await studio.ada.page.locator(".offer").wait_for()


async def show_aborted(studio: Studio) -> None:
    """A match that was aborted."""
    await play_two(studio, "Othello", "d3")
    await studio.ada.button("Abort").click()
    await studio.ada.button("Abort now").click()
    await studio.ada.page.locator(".state.over").wait_for()


async def show_one_screen(studio: Studio) -> None:
    """Two people without names on this screen; a click on a dot shows the lines."""
    await show_lobby(studio)
    await studio.ada.button("Two on this screen").click()
    await studio.ada.button("Dots and boxes").click()
    await studio.ada.board.wait_for()
    await studio.ada.cell("b2").click()


async def show_first_turn(studio: Studio) -> None:
    """A match with a clock, before the first move."""
    await studio.ada.create("Chess", "A friend", side="White", time="5+3")
    await studio.bob.page.goto(studio.ada.page.url)
    await studio.bob.button("Play").click()
    await studio.ada.wait_for_turn()


async def show_no_replays(studio: Studio) -> None:
    """The way to one's own matches, where the list has none."""
    await studio.ada.go("/replays?min_plies=99999")
    await studio.ada.button("Show my matches").wait_for()


async def show_draw(studio: Studio) -> None:
    """A draw by agreement."""
    await show_offer(studio)
    await studio.ada.button("Accept").click()
    await studio.ada.page.locator(".state.over").wait_for()


async def show_win(studio: Studio) -> None:
    """A won match, with the winning line."""
    await play_two(studio, "Connect four", "d1", "a1", "d2", "a2", "d3", "a3", "d4")
    await studio.ada.page.locator(".state.won").wait_for()


async def show_next_game(studio: Studio) -> None:
    """The choice of the next game, after a match between two people."""
    await show_win(studio)
    await studio.ada.button("Next game…").click()
    await studio.ada.page.locator(".next-game .games label", has_text="Othello").click()


async def show_proposal(studio: Studio) -> None:
    """The opponent proposes the next game."""
    await show_win(studio)
    await studio.bob.button("Next game…").click()
    await studio.bob.page.locator(".next-game .games label", has_text="Kalah").click()
    await studio.bob.page.locator(".next-game button.main").click()
    await studio.ada.page.locator(".offer").wait_for()


async def show_evening(studio: Studio) -> None:
    """The matches of a room, of two games, with the score."""
    await show_proposal(studio)
    await studio.ada.button("Accept").click()
    await studio.bob.wait_for_turn()
    await play_by_clicks(studio.bob, 1)
    await studio.ada.button("Abort").click()
    await studio.ada.button("Abort now").click()
    await studio.ada.open_tab("Room")
    await studio.ada.button("All matches").click()
    await studio.ada.page.locator("dialog.evening").wait_for()


async def show_mill(studio: Studio) -> None:
    """A man closes a mill, and its player must choose a man to take."""
    await play_two(studio, "Nine men's morris", "a7", "b4", "d7", "c4")
    await studio.ada.cell("g7").click()


async def show_past_position(studio: Studio) -> None:
    """A player looks at an earlier position of the match."""
    await play_two(studio, "Draughts", "9 13", "21 17", "11 16")
    await studio.ada.button("Previous move").click()


async def show_chat_tab(studio: Studio) -> None:
    """The chat, and on a narrow window the room's other tabs."""
    await show_room_with_friend(studio)
    await studio.ada.open_tab("Chat")


async def show_question(studio: Studio) -> None:
    """The question before a player resigns."""
    await play_two(studio, "Othello", "d3", "c3", "c4")
    await studio.ada.button("Resign").click()


async def show_settings(studio: Studio) -> None:
    await play_two(studio, "Kalah", "f1", "f2")
    await studio.ada.open_tab("Room")
    await studio.ada.button("Board and pieces").click()


async def show_keys(studio: Studio) -> None:
    await play_two(studio, "Dots and boxes", "a1b1", "b1c1", "a1a2")
    await studio.ada.page.keyboard.press("?")


async def show_replay(studio: Studio) -> None:
    await show_result(studio)
    await studio.ada.page.get_by_role("link", name="Replay", exact=True).click()
    await studio.ada.page.get_by_label("Ply", exact=True).wait_for()
    await studio.ada.page.keyboard.press("End")


async def show_replays(studio: Studio) -> None:
    await show_result(studio)
    await studio.ada.go("/replays")
    await studio.ada.page.locator(".matches li").first.wait_for()


async def show_lessons(studio: Studio) -> None:
    """The lessons as cards, after a quiz that was begun."""
    await show_answer(studio)
    await studio.ada.go("/learn")
    await studio.ada.page.locator(".lesson-card .score").wait_for()


async def open_lesson(studio: Studio, path: str) -> None:
    """A lesson with its search and its quiz."""
    await studio.ada.go(path)
    await studio.ada.page.locator(".runs .glass-controls").wait_for()
    await studio.ada.page.locator(".handout").wait_for(state="attached")


async def show_lesson(studio: Studio) -> None:
    await open_lesson(studio, "/learn/four-level-tree?run=0&step=39")


async def show_lesson_of_a_game(studio: Studio) -> None:
    await open_lesson(studio, "/learn/sticks?run=0&step=14")


async def show_two_searches(studio: Studio) -> None:
    """A lesson that compares two searches."""
    await open_lesson(studio, "/learn/one-bound")


async def show_question_of_quiz(studio: Studio) -> None:
    await open_lesson(studio, "/learn/every-leaf")
    await studio.ada.button("Start the quiz").click()
    await studio.ada.page.locator(".quiz glass-tree").wait_for()
    await studio.ada.page.locator(".quiz").scroll_into_view_if_needed()


async def show_answer(studio: Studio) -> None:
    """A question of the quiz that was answered."""
    await show_question_of_quiz(studio)
    await studio.ada.button("No").click()
    await studio.ada.page.locator(".quiz .next").wait_for()


async def show_figure(studio: Studio) -> None:
    """The figure to complete, with hints after a wrong answer."""
    await studio.ada.go("/learn/beta-cut")
    await studio.ada.page.get_by_label("Alpha at C2").fill("25")
    await studio.ada.page.locator("[data-leaf=E]").click()
    await studio.ada.button("Check").click()
    await studio.ada.page.locator(".hints").wait_for()


async def show_order(studio: Studio) -> None:
    """The tree to order, after a check."""
    await open_lesson(studio, "/learn/move-order")
    await studio.ada.page.locator("[data-node=C]").click()
    await studio.ada.button("← C earlier").click()
    await studio.ada.button("Check").click()
    await studio.ada.page.locator(".order-exercise .verdict").wait_for()
    await studio.ada.page.locator(".order-exercise").scroll_into_view_if_needed()


async def show_statements(studio: Studio) -> None:
    """The exercise with statements, after a check of some answers."""
    await open_lesson(studio, "/learn/opaque-moves")
    for item in (await studio.ada.page.locator(".statements-exercise li").all())[:5]:
        await item.get_by_role("button", name="True").click()
    await studio.ada.button("Check").first.click()


async def show_bug(studio: Studio) -> None:
    """The exercise with a listing, whose fault is found."""
    await open_lesson(studio, "/learn/bug-minimax")
    await studio.ada.page.get_by_role("button", name="minimax(q, is_max)").click()


async def show_listings(studio: Studio) -> None:
    """The printed listings, run on a tree of one's own."""
    await studio.ada.go("/listings")
    await studio.ada.button("Run the listings on it").click()
    await studio.ada.page.get_by_role("row", name="Your tree").first.wait_for()


async def show_machine(studio: Studio) -> None:
    """The state machine of an ending of tic-tac-toe, after its search."""
    await open_lesson(studio, "/learn/pay-off")
    await studio.ada.page.locator(".part-machine summary").click()
    await studio.ada.page.locator(".machine .state").first.wait_for()
    await studio.ada.page.keyboard.press("End")
    await studio.ada.page.locator(".machine").scroll_into_view_if_needed()


async def show_sharing(studio: Studio) -> None:
    """The link to a lesson, and the HTML that shows it in a frame."""
    await open_lesson(studio, "/learn/alpha-cut")
    await studio.ada.button("Share").click()
    await studio.ada.page.locator(".sharing").wait_for()


async def show_embedded_lesson(studio: Studio) -> None:
    await studio.ada.go("/embed/learn/every-leaf")
    await studio.ada.page.locator(".runs .glass-controls").wait_for()


async def show_sheet_for_paper(studio: Studio) -> None:
    await open_lesson(studio, "/learn/four-level-tree")
    await studio.ada.page.emulate_media(media="print")


async def show_unknown_lesson(studio: Studio) -> None:
    await studio.ada.go("/learn/nothing")
    await expect(studio.ada.page.get_by_role("heading")).to_have_text("There is nothing here")


async def show_rules(studio: Studio) -> None:
    await show_invitation(studio)
    tab = studio.ada.page.get_by_role("tab", name="Room")
    if await tab.is_visible():
        await tab.click()
    await studio.ada.page.get_by_role("button", name="Rules").first.click()


async def show_nothing_here(studio: Studio) -> None:
    await studio.ada.go("/no/such/page")
    await expect(studio.ada.page.get_by_role("heading")).to_have_text("There is nothing here")


async def show_unknown_room(studio: Studio) -> None:
    await studio.ada.go("/room/unknown")
    await expect(studio.ada.page.get_by_role("heading")).to_be_visible()


async def show_page_that_does_not_load(studio: Studio) -> None:
    """The replays are opened while their files do not arrive."""
    await show_lobby(studio)
    await studio.ada.page.route("**/pages/replays.js", lambda route: route.abort())
    await studio.ada.page.get_by_role("link", name="Replays", exact=True).click()
    await expect(studio.ada.button("Try again")).to_be_visible()


async def show_lost_server(studio: Studio) -> None:
    """A match while the server is away."""
    await show_room_with_ai(studio)
    await studio.server.kill()
    await expect(studio.ada.banner).to_be_visible()


async def show_lobby_of_lost_server(studio: Studio) -> None:
    await show_lobby_with_rooms(studio)
    await studio.server.kill()
    await expect(studio.ada.banner).to_be_visible()


async def show_opponent_gone(studio: Studio) -> None:
    """The opponent has closed the page; the match may be claimed."""
    await play_two(studio, "Connect four", "d1", "d2", "c1", "e1", "c2")
    await studio.bob.page.close(run_before_unload=True)
    await studio.ada.button("Claim the win").wait_for()


async def show_kept_seat(studio: Studio) -> None:
    """The visitor comes back to a match in which the AI keeps the seat."""
    await play_two(studio, "Connect four", "d1", "d2", "c1", "e1")
    room = studio.ada.page.url
    await studio.ada.page.goto("about:blank")
    await studio.bob.button("Let the AI play on").click()
    await studio.ada.page.goto(room)
    await studio.ada.button("Take your seat back").wait_for()


async def show_replays_of_lost_server(studio: Studio) -> None:
    """The replays, opened while the server is away."""
    await studio.ada.go("/replays")
    await studio.ada.page.get_by_role("link", name="Lobby", exact=True).click()
    await studio.server.kill()
    await expect(studio.ada.banner).to_be_visible()
    await studio.ada.page.get_by_role("link", name="Replays", exact=True).click()
    await expect(studio.ada.page.get_by_text("from your last visit")).to_be_visible()


async def open_glass(studio: Studio, query: str) -> None:
    """Opens the glass box and waits for its tree."""
    await studio.ada.go(f"/glass{query}")
    await studio.ada.page.locator("glass-tree .node").first.wait_for()
    await expect(studio.ada.page.locator(".running")).to_have_count(0)


async def show_glass(studio: Studio) -> None:
    """The glass box as it opens: with an example, and the form on a wide window."""
    await open_glass(studio, "")


async def show_glass_mistake(studio: Studio) -> None:
    """A typed tree with a mistake."""
    await show_glass(studio)
    if await studio.ada.button("Change the search").is_visible():
        await studio.ada.button("Change the search").click()
    await studio.ada.page.get_by_label("Tree as text").fill("max(A: min(10, 25),\n  B: foo)")
    await studio.ada.page.locator("#text-mistake .refusal").wait_for()


async def show_glass_chess(studio: Studio) -> None:
    """A chess position at depth 3, in the middle of the search."""
    await open_glass(studio, "?game=chess&moves=e2e4 e7e5&depth=3&step=3000")


async def show_glass_game_form(studio: Studio) -> None:
    """A game with the board for one's own moves, and an algorithm that refuses other choices."""
    await open_glass(studio, "?game=connect-four&algorithm=max-n&depth=2&evaluator=zero")
    await studio.ada.button("Change the search").click()
    await studio.ada.page.locator(".move-board svg.board").wait_for()


async def show_glass_pair(studio: Studio) -> None:
    """Two searches in step."""
    await open_glass(studio, "?lesson=four-level-tree&run=0&with=minimax&step=60")
    await studio.ada.page.locator(".pair-counts").wait_for()


async def show_glass_refused(studio: Studio) -> None:
    """A position that cannot be searched."""
    await studio.ada.go("/glass?game=chess&position=nonsense")
    await studio.ada.page.locator(".refusal").wait_for()


async def show_seat_tree(studio: Studio) -> None:
    """A room with a textbook seat, and the tree of its search."""
    await studio.ada.create("Rock, paper, scissors", "AI against AI")
    await studio.ada.open_tab("Thinking")
    await studio.ada.page.locator(".thinking .search-tree summary").click()
    await studio.ada.page.locator(".search-tree glass-tree .node").first.wait_for()


async def show_outline(studio: Studio) -> None:
    """The outline that is seen while the page's files are on their way."""
    await studio.ada.page.route("**/shell.js", lambda route: asyncio.sleep(3600))
    await studio.ada.page.goto(studio.server.url, wait_until="commit")
    await expect(studio.ada.page.locator(".skeleton")).to_be_visible()


#: Every state by the name of its files. Its visitors are new; the rooms of earlier ones remain.
STATES: dict[str, State] = {
    "outline": show_outline,
    "lobby": show_lobby,
    "lobby-rooms": show_lobby_with_rooms,
    "lobby-own": show_own_matches,
    "lobby-door": show_open_door,
    "lobby-names": show_names,
    "lobby-unfinished": show_unfinished,
    "waiting": show_waiting,
    "waiting-room": show_waiting_in_room,
    "waiting-lesson": show_waiting_in_lesson,
    "newcomer": show_newcomer,
    "no-hint": show_no_hint,
    "refused-commands": show_refused_commands,
    "marked-hint": show_marked_hint,
    "left": show_left,
    "way-back": show_way_back,
    "full-bars": show_full_bars,
    "replay-start": show_start_of_replay,
    "stranger": show_stranger,
    "barred": show_barred,
    "sheet": show_sheet,
    "lobby-lost": show_lobby_of_lost_server,
    "invitation": show_invitation,
    "invitation-guest": show_invitation_for_guest,
    "room-ai": show_room_with_ai,
    "room-friend": show_room_with_friend,
    "room-lost": show_lost_server,
    "result": show_result,
    "offer": show_offer,
    "offer-declined": show_refused_offer,
    "takeback": show_takeback,
    "aborted": show_aborted,
    "one-screen": show_one_screen,
    "first-turn": show_first_turn,
    "replays-none": show_no_replays,
    "draw": show_draw,
    "win": show_win,
    "next-game": show_next_game,
    "proposal": show_proposal,
    "evening": show_evening,
    "mill": show_mill,
    "past": show_past_position,
    "chat": show_chat_tab,
    "gone": show_opponent_gone,
    "kept-seat": show_kept_seat,
    "question": show_question,
    "settings": show_settings,
    "keys": show_keys,
    "rules": show_rules,
    "replay": show_replay,
    "replays": show_replays,
    "replays-lost": show_replays_of_lost_server,
    "lessons": show_lessons,
    "lesson": show_lesson,
    "lesson-game": show_lesson_of_a_game,
    "lesson-pair": show_two_searches,
    "lesson-quiz": show_question_of_quiz,
    "lesson-answer": show_answer,
    "lesson-figure": show_figure,
    "lesson-order": show_order,
    "lesson-share": show_sharing,
    "lesson-statements": show_statements,
    "lesson-bug": show_bug,
    "lesson-machine": show_machine,
    "listings": show_listings,
    "lesson-embed": show_embedded_lesson,
    "lesson-paper": show_sheet_for_paper,
    "lesson-unknown": show_unknown_lesson,
    "nothing-here": show_nothing_here,
    "unknown-room": show_unknown_room,
    "not-loaded": show_page_that_does_not_load,
    "glass": show_glass,
    "glass-mistake": show_glass_mistake,
    "glass-chess": show_glass_chess,
    "glass-game-form": show_glass_game_form,
    "glass-pair": show_glass_pair,
    "glass-refused": show_glass_refused,
    "glass-seat": show_seat_tree,
    **COMPANION_STATES,
}


@asynccontextmanager
async def open_studio(
    browser: Browser, server: ServerProcess, device: str
) -> AsyncIterator[Studio]:
    """Two new visitors of the server, with the device's first screen."""
    if server.returncode is not None:
        await server.start()
    width, height = SCREENS[device][0]
    options = {"viewport": {"width": width, "height": height}, **CONTEXTS[device]}
    contexts = [await browser.new_context(**options) for _ in range(2)]
    ada, bob = [Person(await context.new_page(), server.url) for context in contexts]
    try:
        yield Studio(server, ada, bob)
    finally:
        for context in contexts:
            await context.close()


async def take(page: Page, name: str, device: str, folder: Path) -> None:
    """Takes the screenshots of a page on the screens of a device, light and dark."""
    for width, height in SCREENS[device]:
        await page.set_viewport_size({"width": width, "height": height})
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            await page.wait_for_timeout(SETTLE_MS)
            await page.screenshot(path=folder / f"{name}-{width}x{height}-{scheme}.png")


async def take_all(only: str, folder: Path) -> list[str]:
    """Takes the screenshots of the states whose name contains `only`; returns the states that could
    not be reached, with the reasons.
    """
    names = [name for name in STATES if only in name]
    failures = []
    with tempfile.TemporaryDirectory(prefix="plyroom-screenshots-") as data:
        async with (
            open_chromium() as browser,
            serving(Path(data) / "data", workers=1, page_closed_ms=1) as server,
        ):
            for device, name in product(SCREENS, names):
                click.echo(f"{name} on a {device}")
                try:
                    async with open_studio(browser, server, device) as studio:
                        await STATES[name](studio)
                        await take(studio.ada.page, name, device, folder)
                # The other states are still wanted.
                except Exception as error:
                    failures.append(f"{name} on a {device}: {error}")
            if server.returncode is not None:
                await server.start()
            for name, state in TERMINAL_STATES.items():
                if only in name:
                    click.echo(f"{name} on a terminal")
                    try:
                        terminal = await asyncio.to_thread(
                            run_to_state, state, server.url, Path(data) / name
                        )
                        await take_terminal(browser, terminal, folder / name)
                    except Exception as error:
                        failures.append(f"{name} on a terminal: {error}")
    return failures


@click.command()
@click.option("--only", default="", help="Only the states whose name contains this.")
@click.option("--out", default=ROOT / "screenshots", type=click.Path(path_type=Path))
def main(only: str, out: Path) -> None:
    """Takes the screenshots."""
    out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=20_000)
    failures = asyncio.run(take_all(only, out))
    click.echo(f"The screenshots are in {out}.")
    if failures:
        raise click.ClickException("\n".join(failures))


if __name__ == "__main__":
    main()
