"""A replay on the whole terminal: steps, numbers, the analysis, other moves, a file."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

from textual.widgets import Input

from client.address import parse_address
from client.analyses import AnalysedPosition, AnalysisReport, AnalysisSummary, MarkCounts
from client.api import Line
from client.errors import Refused
from client.terminal.colours import FIXED_COLOURS
from client.terminal.wrapping import visible_width
from client.tui.board_pane import BoardPane
from client.tui.replay import ReplayScreen, moves_of_line
from client.tui.requests import Requests
from engine.rules.registry import load_game
from server.commands import AiSeat, Create, MySeat
from server.protocol.messages import Played
from tests.client.test_replay import MOVES, match
from tests.support.full_screen import FullScreen, running

ADDRESS = parse_address("http://script")


class Canned(Requests):
    """Requests that the rules of tic-tac-toe answer."""

    def __init__(self) -> None:
        super().__init__(ADDRESS, None)
        self.searched: list[tuple[int, tuple[str, ...]]] = []

    async def search_log(
        self,
        game: str,
        options: dict[str, str],
        match: str,
        ply: int,
        moves: tuple[str, ...] = (),
    ) -> str:
        self.searched.append((ply, moves))
        return "searched"

    async def line(self, match_id: str, ply: int, moves: tuple[str, ...]) -> Line:
        position = load_game("tic-tac-toe").start()
        for token in MOVES[:ply]:
            position = position.play(position.parse_move(token))
        views, played = [position.view()], []
        for move in moves:
            if move not in position.tokens():
                raise Refused("move.illegal", f"{move} is not legal")
            position = position.play(position.parse_move(move))
            views.append(position.view())
            played.append(Played(move))
        outcome = position.outcome()
        over = None if outcome is None else outcome.reason
        legal = () if outcome is not None else tuple(position.move_views())
        return Line(position.text(), tuple(views), over, tuple(played), legal)

    async def analysis(
        self, match_id: str, on_report: Callable[[AnalysisReport], None]
    ) -> AnalysisReport:
        on_report(AnalysisReport("running", 6, 3))
        marked = AnalysedPosition(
            3, 60, 1, line="4. a2 5. c1", mark="blunder", loss=0.5, says_mark="Blunder: it loses."
        )
        plain = [AnalysedPosition(ply, 50, ply % 2) for ply in range(6)]
        none = MarkCounts(0, 0, 0)
        summary = AnalysisSummary((92.0, 61.5), (none, none), ())
        moves = (*plain[:3], marked, *plain[4:])
        return AnalysisReport("done", 6, 6, moves=moves, summary=summary)

    async def export(self, match_id: str, path: Path) -> int:
        with path.open("x") as file:
            return file.write("a match")


@asynccontextmanager
async def replay(
    columns: int = 100, rows: int = 30, create: Callable[[Create], None] | None = None
) -> AsyncIterator[tuple[FullScreen, ReplayScreen]]:
    """Runs the application in a replay until the end of the block."""
    record, views = match()
    replayed = ReplayScreen(record, views, Canned(), FIXED_COLOURS, False, 0, create)
    async with running(lambda: replayed, columns, rows) as screen:
        await screen.shows("Ada (Crosses) against AI level 1 (Noughts)", "Start")
        yield screen, replayed


def _is_at(replayed: ReplayScreen, ply: int) -> bool:
    return replayed.ply == ply


async def test_steps_by_keys_numbers_and_the_wheel() -> None:
    """Arrows, letters, Home and End, a number and Enter; at the end stands the result."""
    async with replay() as (screen, replayed):
        await screen.press("right", "n", "space")
        await screen.until(lambda: replayed.ply == 3, "three steps")
        await screen.press("left", "p")
        await screen.shows("1. Crosses: b2")
        await screen.press("end")
        await screen.shows("Crosses win: three in a row.")
        await screen.press("home", "4")
        await screen.shows("To move 4 (Enter)")
        await screen.press("enter")
        await screen.until(lambda: replayed.ply == 4, "move 4")
        await screen.press("9", "9", "enter")
        await screen.shows("There is no move 99; the last one is 5.")
        await screen.pilot.resize_terminal(40, 12)
        await screen.has_rows(12)
        await screen.press("right")
        await screen.until(lambda: replayed.ply == 5, "a step on a small screen")


async def test_what_is_not_drawn_again_did_not_change() -> None:
    """A step draws the rows and texts that change. Each screen is that of a whole drawing, colours
    too, after steps, a turn of the board, other moves, another size and a cursor.
    """
    keys = ("n", "n", "n", "p", "f", "n", "end", "home", "m", "left", "down", "escape", "escape")
    async with replay(80, 24) as (screen, _):
        for size in ((80, 24), (40, 12)):
            await screen.pilot.resize_terminal(*size)
            await screen.has_rows(size[1])
            for key in keys:
                await screen.press(key)
                await screen.is_whole(key)


async def test_the_analysis() -> None:
    """a analyses and shows the graph; j and k go to marked moves, v shows the better line."""
    async with replay() as (screen, replayed):
        await screen.press("j")
        await screen.shows("a analyses the match first.")
        await screen.press("a")
        await screen.shows("chance to win", "Marks  X blunder", "j goes to the first mark.")
        last = [each.split("│")[-1].strip() for each in screen.lines()]
        signs = [each for each in last if "^" in each or "X" in each]
        assert signs[-3:] == [
            "X",
            "^",
            "Marks  X blunder",
        ]  # the place is below the graph, not the words
        await screen.shows("Accuracy: Crosses 92 %, Noughts 61.5 %.", "j  k marks  v better")
        await screen.press("j")
        await screen.until(lambda: replayed.ply == 4, "the blunder")
        await screen.shows("Blunder: it loses.", "Better: 4. a2 5. c1")
        await screen.press("v")
        await screen.shows("Other moves: 4. a2 (5. c1)")
        await screen.press("right")
        await screen.shows("Other moves: 4. a2 5. c1")
        await screen.press("escape")
        await screen.hides("Other moves")
        # By the mouse: a move of the list, and a place of the graph.
        await screen.click_on("2. a1")
        await screen.until(lambda: replayed.ply == 2, "move 2")
        await screen.click_on("3. ")
        await screen.until(lambda: replayed.ply == 3, "move 3")
        row, line = next((i, x) for i, x in enumerate(screen.lines()) if "100 % |" in x)
        left = visible_width(line[: line.index("100 % |") + len("100 % |")])
        for col in (5, 0, 3):
            await screen.pilot.click(offset=(left + col, row))
            await screen.until(partial(_is_at, replayed, col), f"column {col}")


async def test_other_moves_and_playing_on() -> None:
    """m plays another move from any position; g searches what is shown, and y opens a room from
    there, on the side to move.
    """
    created: list[Create] = []
    async with replay(create=created.append) as (screen, replayed):
        await screen.press("right")
        await screen.click_on("m other")
        line = screen.app.screen.query_one("#replay-move", Input)
        await screen.until(lambda: line.has_focus, "the line")
        await screen.press(*"b2")
        await screen.click_on("Enter: goes on")
        await screen.shows("error: b2 is not legal")
        await screen.press("m", *"a3", "enter")
        await screen.shows("Other moves: 2. a3")
        await screen.press("m", *"c1", "enter")
        await screen.shows("Other moves: 2. a3 3. c1")
        requests = cast(Canned, replayed._requests)
        for steps, moves in (((), ("a3", "c1")), (("left",), ("a3",))):
            await screen.press(*steps, "g")
            await screen.until(lambda: requests.searched, "a search")
            assert requests.searched.pop() == (1, moves)  # of what is shown
            await screen.shows("Alpha-beta, 2 plies deep")
            await screen.press("escape")
        await screen.press("right", "y")
        await screen.until(lambda: created, "a room")
        assert created[0].seats == (AiSeat(level=1), MySeat())
        assert created[0].start is not None
        await screen.press("escape", "end", "y")
        await screen.shows("The match is over in this position: three in a row")


async def test_other_moves_are_picked_on_the_board() -> None:
    """After m the arrow keys walk the board and Space picks; a click picks at once. Only legal
    moves are picked, those of the position that is shown.
    """
    async with replay() as (screen, replayed):
        await screen.press("right", "m")
        await screen.until(lambda: replayed._legal, "the legal moves")
        await screen.press("space", "left", "down", "space")  # from b2, which is taken, to a1
        await screen.shows("Other moves: 2. a1")
        board = screen.app.screen.query_one(BoardPane)
        assert board.picture is not None
        for cell, shown in (("a1", "2. a1"), ("c3", "2. a1 3. c3")):
            box = board.picture.boxes[cell]
            place = (box.col + box.width // 2, box.row + box.height // 2)
            await screen.pilot.click(BoardPane, offset=place)
            await screen.shows(f"Other moves: {shown}")
        await screen.press("m", "escape", "escape")
        await screen.hides("Other moves")


async def test_a_replay_without_a_server_for_matches_says_the_command() -> None:
    async with replay() as (screen, _):
        await screen.press("right", "y")
        await screen.shows("plyroom play tic-tac-toe --ply 1 --from http://script/match/m1")


async def test_a_file_is_written_once(tmp_path: Path) -> None:
    """x writes a new file and never over another one."""
    async with replay() as (screen, _):
        line = screen.app.screen.query_one("#replay-file", Input)
        for answer in ("Wrote 7 bytes", "there is a file"):
            await screen.press("x")
            await screen.until(lambda: line.has_focus, "the line")
            line.value = str(tmp_path / "m.pgn")
            await screen.press("enter")
            await screen.shows(answer)
    assert (tmp_path / "m.pgn").read_text() == "a match"


async def test_the_keys_are_listed_and_leave() -> None:
    """? lists the keys; choosing one presses it; q ends the application."""
    async with replay() as (screen, replayed):
        await screen.press("question_mark")
        await screen.shows("The keys of a replay", "plays on by itself")
        await screen.press("enter")
        await screen.until(lambda: replayed.ply == 1, "the next move")
        await screen.press("f", "q")
        await screen.until(lambda: not screen.app.is_running, "the end")


def test_moves_of_a_line() -> None:
    assert moves_of_line("4... Nf6 5. Bf4") == ("Nf6", "Bf4")
