"""A person and AI seats play every game, in a browser and on a terminal.

The tests and the clients choose among the legal moves that the server sends; neither has code for a
particular game.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from client.connection import connect
from engine.rules.registry import game_ids, load_game
from engine.view import Grid
from server.commands import AiSeat, Create
from tests.support.any_game import OVER, play_by_clicks, play_by_typing, play_with_pointer
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.pseudo_terminal import environ, on_a_terminal, on_pipes, plyroom
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, assert_no_traceback, serving
from tests.support.small_texts import small_texts
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

GAMES = game_ids()
#: The games that two AI seats play in `make test`; of others a spectator sees a person's match.
DUELS = ("kalah", "rock-paper-scissors")
#: The games that a person plays on a terminal in `make test`, at least one of each form of board
#: and of moves; other tests draw the boards of all games and read their moves.
TYPED = (
    "chess",
    "dots-and-boxes",
    "draughts",
    "hex",
    "kalah",
    "nine-mens-morris",
    "rock-paper-scissors",
    "sticks",
)
#: The most moves that a person types before resigning; `make test-long` plays all games to the end.
MOVES = 12
#: The page's status after a match.
RESULT = re.compile(r"^(Draw|You (won|lost)|[^:]+ wins?)( \u2212?\d+ to \u2212?\d+)?: ")
#: The line on the terminal after a match.
RESULT_LINE = re.compile(
    r"^(Draw|You (won|lost)|[^:\n]+ wins?)( -?\d+ to -?\d+)?: .+\.$", re.MULTILINE
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    data = tmp_path_factory.mktemp("games") / "data"
    async with serving(
        data, ai_pace_ms=0, ai_duel_pace_ms=0, workers=1, **NO_RATE_LIMITS
    ) as server:
        yield server
        assert_no_traceback(server)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ada(chromium: Browser, server: ServerProcess) -> AsyncIterator[Person]:
    """A person with a mouse, whose one page goes from game to game."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/")
        yield ada


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kim(chromium: Browser, server: ServerProcess) -> AsyncIterator[Person]:
    """A spectator on a phone, whose one page goes from match to match."""
    async with people(chromium, server.url, PHONE) as (kim,):
        await kim.go("/")
        yield kim


def level_of(game: str, level: int) -> int | None:
    """Returns the level, or the game's highest; None for a game that only strategies play."""
    return min(level, load_game(game).levels) or None


async def create_duel(server: ServerProcess, game: str, level: int = 1) -> str:
    """Creates a room in which two AI seats play; returns its id."""
    seat = AiSeat(level) if load_game(game).levels else AiSeat(strategy="minimax")
    async with connect(server.url) as client:
        create = Create(id=client.new_id(), game=game, seats=(seat, seat))
        room = (await client.command(create)).room
    assert isinstance(room, str)
    return room


async def assert_follows_the_rules(person: Person, game: str) -> None:
    """Asserts that the final board follows from the listed moves, and the result from the rules,
    unless the person has resigned.
    """
    match = (
        await person.page.locator(".state a.button", has_text="Replay").get_attribute("href") or ""
    ).split("/")[-1]
    record = await person.page.evaluate(
        "match => fetch(`/api/matches/${match}`).then(body => body.json())", match
    )
    position = load_game(game).position(record["start"], record["options"])
    for played in record["moves"]:
        position = position.play(position.parse_move(played["move"]))
    outcome = position.outcome()
    if record["over"]["how"] == "board":
        assert outcome is not None
        assert record["over"]["winner"] == outcome.winner
    else:
        assert outcome is None
        assert record["over"]["how"] == "resign"
    kinds = position.game.board(position.options).kinds
    await person.wait_for_pieces(
        {cell: kinds[kind].name for cell, kind in position.view().pieces.items()}
    )


@pytest.mark.parametrize("game", GAMES)
async def test_a_person_plays_the_ai_in_a_browser(ada: Person, game: str) -> None:
    """The person starts in the lobby, clicks, and resigns unless the match has ended.

    During the match the page fits a desktop and a phone, and passes axe.
    """
    board = load_game(game).board(load_game(game).check_options({})).board
    # Other tests audit boards of squares, and `make test-long` that of each game.
    await start_with_clicks(ada, game, is_audited=not isinstance(board, Grid))
    await ada.page.set_viewport_size(PHONE["viewport"])
    await expect(ada.page.get_by_role("tablist")).to_be_visible()
    await assert_fits(ada, in_height=False)
    await play_by_clicks(ada, 2)
    over = ada.page.locator(".state.over")
    await expect(over.or_(ada.page.locator("ply-board.playable"))).to_be_visible()
    if not await over.count():
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
    await expect(ada.status).to_have_text(RESULT)
    await assert_follows_the_rules(ada, game)
    assert ada.faults == []


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
async def test_a_person_plays_the_ai_to_the_end_in_a_browser(ada: Person, game: str) -> None:
    """The person clicks until the match ends on the board."""
    await start_with_clicks(ada, game)
    await play_by_clicks(ada, 1000)
    await expect(ada.status).to_have_text(RESULT)
    await assert_follows_the_rules(ada, game)
    assert ada.faults == []


async def start_with_clicks(person: Person, game: str, is_audited: bool = True) -> None:
    """Starts a match from the lobby and plays some moves; the page fits and passes axe."""
    await person.page.set_viewport_size(DESKTOP["viewport"])
    await person.create(load_game(game).title, "The AI", level=level_of(game, 1), loads=False)
    await play_with_pointer(person, 2)
    await play_by_clicks(person, 4)
    await assert_fits(person, in_height=True)
    await expect(person.board).to_be_in_viewport(ratio=1)
    assert await small_texts(person.page) == []
    if is_audited:
        assert await audit(person.page) == []


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
async def test_a_person_plays_the_second_side_to_the_end_on_a_phone(
    chromium: Browser, server: ServerProcess, game: str
) -> None:
    """The person plays the second side by touch, at level 2 if there is one; axe finds nothing."""
    side = load_game(game).board(load_game(game).check_options({})).seats[1].name
    async with people(chromium, server.url, PHONE) as (ada,):
        await ada.create(load_game(game).title, "The AI", level=level_of(game, 2), side=side)
        await play_with_pointer(ada, 2)
        await assert_fits(ada, in_height=False)
        assert await audit(ada.page) == []
        await play_by_clicks(ada, 1000, seed=7)
        await expect(ada.status).to_have_text(RESULT)
        await assert_follows_the_rules(ada, game)


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=[] if game in DUELS else pytest.mark.long) for game in GAMES]
)
async def test_two_ai_seats_play_to_the_end_in_a_browser_and_on_a_terminal(
    kim: Person, server: ServerProcess, game: str, tmp_path: Path
) -> None:
    """Spectators on a phone and in a terminal see the whole match."""
    room = await create_duel(server, game)
    with on_pipes(plyroom("watch", f"{server.url}/room/{room}"), environ(tmp_path)) as screen:
        await assert_sees_the_end(kim, game, room)
        assert screen.wait_for_end() == 0
        assert RESULT_LINE.search(screen.text)


async def assert_sees_the_end(kim: Person, game: str, room: str) -> None:
    """Asserts that a spectator on a phone sees the match to its end, and the board fits."""
    await kim.open(f"/room/{room}")
    await expect(kim.status).to_have_text(RESULT, timeout=60_000)
    await assert_fits(kim, in_height=False)
    await assert_follows_the_rules(kim, game)
    assert kim.faults == []


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        *((game, MOVES) for game in TYPED),
        *(pytest.param(game, 1000, marks=pytest.mark.long) for game in GAMES),
    ],
)
async def test_a_person_plays_the_ai_on_a_terminal(
    kim: Person, server: ServerProcess, game: str, moves: int, tmp_path: Path
) -> None:
    """The person types moves that the terminal lists, and resigns a long match.

    A spectator on a phone sees the match.
    """
    opponent = ("--level", "1") if load_game(game).levels else ("--strategy", "minimax")
    command = plyroom("play", game, *opponent, "--url", server.url, "--side", "second")
    with on_a_terminal(command, environ(tmp_path)) as screen:
        screen.expect("/room/")
        room = screen.expect("\n").strip()
        watching = asyncio.create_task(assert_sees_the_end(kim, game, room))
        played = await asyncio.to_thread(play_by_typing, screen, moves)
        is_long = played == moves
        if is_long and screen.expect_one("Your move", OVER) != OVER:
            screen.type("resign yes")
        await watching
        screen.type("quit")
        assert screen.wait_for_end() == 0
        assert played > 0
        assert RESULT_LINE.search(screen.text)
