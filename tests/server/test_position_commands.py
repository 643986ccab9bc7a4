"""The bot's help with positions: /why, /eval, /best, /hint, /threat, the hint button, the coach."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from engine.rules.registry import load_game
from engine.search.job import NULL_MOVE, Info, Job, Load, Result, RootMove, SearchFailed
from server.bot.coach import open_coach
from server.bot.commands.positions import hint_answer
from server.bot.hints import NO_HINT, open_hints
from server.bot.searches import Findings
from server.commands import Hint, HintKind, MySeat, OpenSeat, Rematch, Resign
from server.ids import RoomId
from server.ports import OnInfo
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.runtime.node.hub import Hub
from server.seats.answers import position_of
from tests.oracle.explanations import read_claims
from tests.server.test_forced_pass import TO_A_PASS
from tests.support.analyses import made_up_result
from tests.support.bots import AGAINST_AI, ask, bot_lines, bot_of, private_answer
from tests.support.fake_server import Client, FakeServer, Message, ScriptedEngines, virtual

#: The search of the first position of chess.
START_JOB = Job("chess", "", {}, load_game("chess").start().text(), (), "")
#: The commands that help with positions, with what follows them.
HELP = ("/why", "/eval", "/best", "/hint", "/hint piece", "/threat", "/coach on", "/teach")


class HelpEngines(ScriptedEngines):
    """Engines whose results depend on the job alone. Asks wait until `may_answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asks: list[Job] = []
        self.error: Exception | None = None
        #: The score of the position of a job for the side to move; None for a made-up one.
        self.score_after: Callable[[Job], int] | None = None

    def load(self) -> Load:
        return Load(0, 0, 2)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        if job.use != "ask":
            return made_up_result(job)
        self.asks.append(job)
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise
        if self.error is not None:
            raise self.error
        if self.score_after is not None:
            return result_with(job, self.score_after(job))
        return made_up_result(job)


class BotRoom:
    """Ada's room, by default against an AI, with the bot, the hints and the coach."""

    def __init__(self, hub: Hub, engines: HelpEngines, ada: Client, room_id: RoomId) -> None:
        self.hub, self.engines, self.ada, self.room_id = hub, engines, ada, room_id

    async def play(self, ply: int, move: str) -> None:
        """Plays a move of Ada, and waits for the AI's reply."""
        await self.ada.ack(self.ada.move(self.room_id, ply, move))
        await self.ada.until(
            lambda m: m["t"] == "event" and m["kind"] == "moved" and m["ply"] == ply + 1
        )

    async def ask(self, text: str) -> Message:
        """Asks as Ada; returns the bot's private answer."""
        return await private_answer(self.ada, self.room_id, text)

    def hint(self, ply: int, what: HintKind = "moves") -> wire.CommandFrame:
        return wire.CommandFrame(self.room_id, Hint(id=self.ada.new_id(), ply=ply, what=what))

    async def answer_about(self, subject: str, since: int = 0) -> Message:
        """The next answer that belongs to no line: a hint, or a comment of the coach."""
        return await self.ada.until(
            lambda m: m["t"] == "answer" and m.get("about") == subject, since
        )


@asynccontextmanager
async def bot_room(game: str = "tic-tac-toe", **fields: Any) -> AsyncIterator[BotRoom]:
    fake = FakeServer().unlimited()
    engines = fake.engines = HelpEngines()
    async with (
        fake.hub() as hub,
        bot_of(hub) as bot,
        open_hints(hub),
        open_coach(hub, bot),
    ):
        ada = Client(hub, "ada")
        room = await ada.create(game, **({"seats": AGAINST_AI} | fields))
        await ada.ack(ada.join(room))
        yield BotRoom(hub, engines, ada, room)


@virtual
async def test_why_speaks_from_the_stored_search() -> None:
    """/why explains the AI's last move to everyone, /why 2 that move, both without a search."""
    async with bot_room() as room:
        assert "No AI" in (await room.ask("/why"))["text"]
        await room.play(0, "b2")
        await room.ada.ack(room.ada.chat(room.room_id, "why did you play that?"))
        first = await room.ada.until(lambda m: m.get("kind") == "said" and m.get("by") == "bot")
        assert read_claims(first["text"]).roles["played"]
        move = next(m for m in room.ada.events() if m.get("kind") == "moved" and m["ply"] == 1)
        assert read_claims(first["text"]).roles["played"] == (move.get("text") or move["move"])
        assert "move 2" in (await room.ask("/why 1"))["text"]
        assert len(bot_lines(room.ada)) == 1
        assert room.engines.asks == []


@virtual
async def test_why_is_silent_where_the_thinking_is_hidden() -> None:
    """A room that shows the thinking only after the match explains no move during it."""
    async with bot_room(thinking="after") as room:
        await room.play(0, "b2")
        assert "after the match" in (await room.ask("/why"))["text"]
        assert bot_lines(room.ada) == []


@virtual
async def test_questions_about_a_position_are_answered_alone() -> None:
    """/eval, /best and /hint answer the asker alone, from one search of the position."""
    async with bot_room() as room:
        ben = Client(room.hub, "ben")
        await ben.ack(ben.join(room.room_id))
        assert "% to win" in (await room.ask("/eval"))["text"]
        best = await room.ask("/best")
        assert [arrow["kind"] for arrow in best["arrows"]] == ["best"]
        assert len(best["candidates"]) == 1
        hint = await room.ask("/hint")
        assert [each.get("bound", "exact") for each in hint["candidates"]] == ["exact"] * 3
        assert hint["text"].count("\n") == 3
        hint = await room.ask("/hint piece")
        assert hint["text"].startswith("One of these is the best move")
        marked = [arrow["cells"][0] for arrow in hint["arrows"]]
        assert marked == sorted(marked), "their order does not say which is best"
        assert all(cell in hint["text"] for cell in marked)
        assert len(marked) == 3
        assert {arrow.get("kind", "best") for arrow in hint["arrows"]} == {"best"}
        assert len(room.engines.asks) == 1, "the result is kept"
        assert ben.of("answer") == []


def test_a_hint_about_a_pass_has_no_mark() -> None:
    """The weakest hint names a move without cells and does not mark it."""
    position = load_game("othello").start()
    for token in TO_A_PASS.split():
        position = position.replay(token)
    info = Info(5, 9, 60_000, 1, 1, ("pass",), (RootMove("pass", 9, line=("pass",)),))
    answer = hint_answer(Findings(position, 8, Result("pass", info)), "piece")
    assert (answer.text, answer.arrows) == ("There is not much choice: look at pass.", ())


@virtual
async def test_who_is_not_to_move_reads_for_which_side_the_moves_are() -> None:
    """After one's own move the best move is the opponent's, and the answer says so."""
    async with bot_room(seats=(MySeat(), OpenSeat()), help=True) as room:
        ben = Client(room.hub, "ben")
        await ben.ack(ben.join(room.room_id))
        await ben.ack(ben.sit(room.room_id, 1))
        await room.ada.ack(room.ada.move(room.room_id, 0, "b2"))
        for text in ("/best", "/hint", "/hint piece"):
            waiting = await room.ask(text)
            to_move = await private_answer(ben, room.room_id, text)
            assert waiting["text"] == f"Noughts to move. {to_move['text']}"
        since = len(room.ada.messages)
        await room.ada.ack(room.hint(1))
        assert (await room.answer_about("hint", since))["text"].startswith("Noughts to move.")


#: The games in which the turn can be passed, and the side that moves second.
NULL_MOVES = {
    "breakthrough": "Black", "chess": "Black", "dots-and-boxes": "Blue", "draughts": "White",
    "gomoku": "White", "international-draughts": "Black", "kalah": "North", "othello": "White",
    "sticks": "Second",
}  # fmt: skip


@pytest.mark.parametrize("game_id", NULL_MOVES)
@virtual
async def test_a_threat_is_the_opponents_move_after_a_pass(game_id: str) -> None:
    """/threat searches the same position with the other side to move."""
    async with bot_room(game_id) as room:
        answer = await room.ask("/threat")
        assert answer["text"].startswith(f"If {NULL_MOVES[game_id]} could move now")
        (job,) = room.engines.asks
        assert job.null_move
        assert job.needs == (NULL_MOVE,)
        passed = position_of(job, load_game(game_id))
        assert passed.turn == 1
        assert passed.view().pieces == load_game(game_id).start().view().pieces
        assert {each["move"] for each in answer["candidates"]} <= set(passed.tokens())
        assert {arrow["kind"] for arrow in answer.get("arrows", ())} <= {"threat"}


@pytest.mark.parametrize("game_id", ["connect-four", "tic-tac-toe"])
@virtual
async def test_no_threat_is_offered_where_no_turn_can_be_passed(game_id: str) -> None:
    """In a game without null moves /help does not list /threat, and the bot says why."""
    async with bot_room(game_id) as room:
        assert "/threat" not in (await room.ask("/help"))["text"]
        assert "the turn cannot be passed" in (await room.ask("/threat"))["text"]
        assert room.engines.asks == []


#: Positions in which the turn cannot be passed, and the reason.
NO_NULL_MOVES = {
    "chess": (
        "rnb1kbnr/pppp1ppp/8/4p3/7q/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 1",
        "the side that is not to move is in check",
    ),
    "nine-mens-morris": (
        ".../.../.../.../.../.../.../... white 9-9 0 flying",
        "White places a man first, then Black",
    ),
}


@pytest.mark.parametrize("game_id", NO_NULL_MOVES)
@virtual
async def test_no_threat_is_known_where_a_pass_would_be_illegal(game_id: str) -> None:
    """The bot says why, in check for example, and searches the position as it is."""
    start, reason = NO_NULL_MOVES[game_id]
    async with bot_room(game_id, start=start) as room:
        assert "/threat" in (await room.ask("/help"))["text"]
        text = (await room.ask("/threat"))["text"]
        assert text.startswith("No threat is known here: with Black to move, the position would")
        assert f" ({reason})." in text
        assert not any(job.null_move for job in room.engines.asks)


@virtual
async def test_the_hint_button_helps_step_by_step() -> None:
    """The hint names a piece, then a move, then three moves; the board is searched once."""
    async with bot_room("chess") as room:
        texts = []
        for what in ("piece", "move", "moves"):
            since = len(room.ada.messages)
            await room.ada.ack(room.hint(0, what))
            texts.append((await room.answer_about("hint", since))["text"])
        assert texts[0].startswith("Look at the white ")
        assert texts[1].startswith("The best move is ")
        assert texts[2].startswith("The best moves:\n1) ")
        assert len(room.engines.asks) == 1


@pytest.mark.parametrize("text", ["/best", "/eval"])
def test_an_answer_that_is_no_longer_allowed_is_withheld(text: str) -> None:
    """A person asks about a finished match, and two people begin the next one meanwhile: the bot
    says that the room forbids help now, and nothing about the position.
    """

    @virtual
    async def run() -> None:
        async with bot_room(seats=(MySeat(), OpenSeat())) as room:
            ada, ben = room.ada, Client(room.hub, "ben")
            await ben.ack(ben.sit(room.room_id, 1))
            await ada.ack(ada.move(room.room_id, 0, "b2"))
            await ben.ack(ben.plain(Resign, room.room_id))
            room.engines.may_answer.clear()
            v = await ask(ada, room.room_id, text)
            await asyncio.sleep(1)
            assert len(room.engines.asks) == 1
            for player in (ada, ben):
                await player.ack(player.plain(Rematch, room.room_id))
            room.engines.may_answer.set()
            answer = await ada.until(lambda m: m["t"] == "answer" and m["v"] == v)
            assert answer["text"].startswith("In this room two people play each other")
            assert "arrows" not in answer

    run()


@virtual
async def test_a_hint_ends_when_the_position_changes() -> None:
    """A move ends the search for a hint, and a late request is refused."""
    async with bot_room() as room:
        room.engines.may_answer.clear()
        await room.ada.ack(room.hint(0))
        await asyncio.sleep(1)
        assert len(room.engines.asks) == 1
        await room.play(0, "b2")
        await asyncio.sleep(1)
        assert len(room.engines.cancelled) == 1
        assert [m for m in room.ada.of("answer") if m.get("about") == "hint"] == []
        assert await room.ada.expect_refusal(room.hint(0)) == Code.MOVE_STALE


@virtual
async def test_a_hint_that_fails_says_so() -> None:
    """If the search for a hint fails, the answer says so."""
    async with bot_room() as room:
        room.engines.error = SearchFailed("planted")
        await room.ada.ack(room.hint(0))
        assert (await room.answer_about("hint"))["text"] == NO_HINT


@pytest.mark.parametrize("name", ["ada", "cyd"])
@virtual
async def test_two_people_get_no_help(name: str) -> None:
    """Between two people the bot refuses every help in words, to players and to spectators.

    After the match it helps again.
    """
    async with bot_room(seats=(MySeat(), OpenSeat())) as room:
        ben = Client(room.hub, "ben")
        await ben.ack(ben.join(room.room_id))
        await ben.ack(ben.sit(room.room_id, 1))
        asker = room.ada if name == "ada" else Client(room.hub, name)
        await asker.ack(asker.join(room.room_id))
        for text in HELP:
            answer = await private_answer(asker, room.room_id, text)
            assert "wo people play each other" in answer["text"] or "seat" in answer["text"], text
        hint = wire.CommandFrame(room.room_id, Hint(id=asker.new_id(), ply=0))
        assert await asker.expect_refusal(hint) == Code.HELP_NONE
        assert room.engines.asks == []
        await ben.ack(ben.plain(Resign, room.room_id))
        assert "% to win" in (await private_answer(asker, room.room_id, "/eval"))["text"]


def result_with(job: Job, score: int) -> Result:
    """A result with this score of the best move; every other move is much worse."""
    result = made_up_result(job)
    worse = tuple(replace(each, score=score - 400, bound="upper") for each in result.info.moves[1:])
    moves = (replace(result.info.moves[0], score=score, bound="exact"), *worse)
    return replace(result, info=replace(result.info, score=score, moves=moves))


@virtual
async def test_the_coach_speaks_of_a_move_that_loses_much() -> None:
    """The coach names the better move and the answer to the played one, to that player alone."""
    async with bot_room("chess") as room:
        ben = Client(room.hub, "ben")
        await ben.ack(ben.join(room.room_id))
        room.engines.score_after = lambda job: 300 if job.moves[-1:] == ("f2f3",) else 10
        await room.ask("/coach on")
        await room.play(0, "f2f3")
        comment = await room.answer_about("coach")
        assert re.match(r"Coach: .*f3", comment["text"])
        assert "is answered by 1... " in comment["text"]
        assert "arrows" not in comment, "they would stand on a later position"
        assert len(room.engines.asks) == 4
        assert ben.of("answer") == []


@virtual
async def test_the_coach_is_silent_about_good_moves_and_when_it_is_off() -> None:
    """The coach says nothing of a move that loses little, and asks for no search when it is off."""
    async with bot_room("chess") as room:
        room.engines.score_after = lambda job: 10
        await room.ask("/coach on")
        await room.play(0, "f2f3")
        await asyncio.sleep(5)
        assert len(room.engines.asks) == 2
        await room.ask("/coach off")
        await room.play(2, "g2g3")
        await asyncio.sleep(5)
        assert len(room.engines.asks) == 2
        assert [m for m in room.ada.of("answer") if m.get("about") == "coach"] == []


@virtual
async def test_the_coach_praises_the_only_good_move() -> None:
    """The best move is praised where the search has proved that every other one is much worse."""
    async with bot_room("chess") as room:
        room.engines.score_after = lambda job: 10 if len(job.moves) % 2 == 0 else -10
        await room.ask("/coach on")
        best = made_up_result(START_JOB).info.pv[0]
        await room.play(0, best)
        text = (await room.answer_about("coach"))["text"]
        assert re.fullmatch(r"Coach: .*\d+ %.*", text), text
