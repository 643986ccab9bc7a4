"""The room's bot: it answers questions in the chat once, to the asker alone or to everyone."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Any

import pytest

from engine.search.job import Job, Limit, Result
from server.bot import api, calls, registry
from server.bot.api import Answer, Ask, Reply, Search, command
from server.bot.bot import MAX_QUEUED, open_bot
from server.bot.calls import MAX_FAULTS, Calls, CommandFailed, in_thread
from server.bot.commands.basics import clock
from server.bot.commands.learning import quiz
from server.commands import (
    AiSeat,
    BotLine,
    Chat,
    Move,
    Mute,
    MySeat,
    OpenSeat,
    Resign,
    Sit,
    Unmute,
)
from server.ids import IdentityId, RoomId
from server.protocol.codes import Code
from server.questions import PLAIN_QUESTIONS, Question, parse_question
from server.rooms import chat
from server.rooms.chat_limits import QUESTION_WINDOW_MS
from server.rooms.model import BOT, Actor, CommandRejected, Viewer
from server.rooms.permissions import viewer_of
from server.runtime.log import Rejected
from tests.oracle import history
from tests.support.bots import AGAINST_AI, ask, bot_lines, bot_of, private_answer
from tests.support.fake_room import ADA as FAKE_ADA
from tests.support.fake_room import BOB, FakeRoom
from tests.support.fake_server import (
    START_MS,
    Client,
    FakeServer,
    Fault,
    run_ready_tasks,
    virtual,
)
from tests.support.room_log import ADA, BEN, CYD, LoggedRoom, attempt, created, seated
from tests.support.room_log import chat as line

Patch = pytest.MonkeyPatch


@command("roll", "throws a die for everyone", is_public=lambda room: True)
def roll(ask: Ask) -> Answer:
    return Answer(f"{ask.viewer.identity} throws a {1 + ask.v % 6}", is_public=True)


@command("broken", "fails")
def broken(ask: Ask) -> Answer:
    raise ZeroDivisionError("planted")


@command("look", "searches", cost=1)
def look(ask: Ask) -> Search:
    match, game = ask.match, ask.game
    assert match is not None
    assert game is not None
    moves = tuple(played.move for played in match.moves)
    job = Job(game.id, game.digest, {}, match.start, moves, "", limit=Limit(nodes=100))

    def tell(result: Result) -> Answer:
        return Answer(f"the best is {result.move}", arrows=(api.Arrow((result.move,)),))

    return Search(job, tell)


@pytest.fixture
def plugins(monkeypatch: Patch) -> None:
    """Registers the commands of this module beside the built-in ones."""
    commands = dict(registry.all_commands()) | {each.name: each for each in (roll, broken, look)}
    for module in ("server.bot.bot", "server.bot.registry"):
        monkeypatch.setattr(
            f"{module}.find_command", lambda name: MappingProxyType(commands).get(name)
        )


# --- questions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("/why", Question("why")),
        ("/Coach on", Question("coach", ("on",))),
        ("/", Question("")),
        ("/ why", Question("why")),
        ("//why", Question("why")),
        ("why", Question("why")),
        ("Why did you play that?!", Question("why")),
        ("what\u2019s the best move", Question("best")),
        ("I know why", None),
        ("Hey Plyroom, what should I do now, please?", Question("hint")),
        ("so why?", Question("why")),
        ("and now?", Question("hint")),
        ("@Plyroom what now?", Question("hint")),
        ("Can I take that back?", Question("help", ("takeback",))),
        ("now please", None),
        ("please tell me why", None),
    ],
)
def test_questions(text: str, question: Question | None) -> None:
    """A slash and a word are a command; plain questions are those of the list, in a room with an
    AI or where they name the bot.
    """
    assert parse_question(text, has_ai=True) == question
    is_for_bot = text.startswith("/") or "Plyroom" in text
    assert parse_question(text, has_ai=False) == (question if is_for_bot else None)


def test_each_plain_question_stands_for_one_command_that_changes_nothing() -> None:
    """No plain question is listed twice, and none stands for a command of the room."""
    texts = [text for texts in PLAIN_QUESTIONS.values() for text in texts]
    assert len(texts) == len(set(texts))
    assert {"takeback", "draw", "coach on", "coach off"}.isdisjoint(PLAIN_QUESTIONS)
    for command_line, questions in PLAIN_QUESTIONS.items():
        expected = parse_question(f"/{command_line}", True)
        assert {parse_question(text, True) for text in questions} == {expected}


# --- answers ------------------------------------------------------------------------------------


@virtual
async def test_a_private_answer_reaches_the_asker_alone() -> None:
    """Every connection of the asker receives the answer, and nobody else; it is not logged."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, tablet, ben = Client(hub, "ada"), Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, tablet, ben):
            await client.ack(client.join(room))
        answer = await private_answer(ada, room, "/clock")
        assert "no clock" in answer["text"]
        await run_ready_tasks()
        assert tablet.of("answer") == [answer]
        assert ben.of("answer") == []
        assert bot_lines(ben) == []


@virtual
async def test_the_bot_tells_the_time_that_is_left() -> None:
    """A plain question is enough: both clocks as they are now, whose turn it is, and the control in
    words; before both have moved, when that is due.
    """
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=AGAINST_AI, clock="40/300+3:60")
        for client in (ada, ben):
            await client.ack(client.join(room))
        answer = await private_answer(ada, room, "how much time do I have?")
        control = (
            "The clock is =40/300+3:60: 5 minutes for 40 turns, and 3 s after each turn,"
            " then 1 minute."
        )
        has, starts = "Crosses has 5:00, Noughts has 5:00.", "The clock starts when both sides have"
        assert answer["text"] == (
            f"{has} {starts} moved; Crosses has to move within 2:00. {control}"
        )
        await run_ready_tasks()
        assert ben.of("answer") == []


def test_the_clock_of_a_running_and_of_a_finished_match() -> None:
    """The time of the answer counts, and after the match the times at its end."""
    at_ms = [START_MS]
    fake = FakeRoom(seats=(MySeat(), OpenSeat()), clock="60+0", now_ms=lambda: at_ms[0])
    fake.decide(BOB, Sit(id="sit", seat=1))
    for ply, (actor, cell) in enumerate(((FAKE_ADA, "b2"), (BOB, "a1"))):
        fake.decide(actor, Move(f"m{ply}", ply, cell))

    def answer(later_ms: int) -> str:
        viewer = viewer_of(fake.room, FAKE_ADA.identity)
        reply = clock.run(Ask(fake.room, viewer, at_ms=START_MS + later_ms))
        assert isinstance(reply, Answer)
        return reply.text

    assert answer(12_300).startswith("Crosses has 0:47, Noughts has 1:00. Crosses is to move.")
    at_ms[0] += 55_500
    fake.decide(BOB, Resign("resign"))
    assert answer(90_000).startswith("Crosses has 0:04.5, Noughts has 1:00. The clock is 1+0:")


@virtual
async def test_an_unknown_command_is_answered_with_the_nearest_one() -> None:
    """`/takebak` is answered with /takeback, `/xyzzy` with /help."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada = Client(hub, "ada")
        room = await ada.create(seats=AGAINST_AI)
        await ada.ack(ada.join(room))
        assert "/takeback?" in (await private_answer(ada, room, "/takebak"))["text"]
        assert "/help?" in (await private_answer(ada, room, "/xyzzy"))["text"]


@virtual
async def test_every_command_gives_a_player_a_spectator_and_an_empty_room_an_answer() -> None:
    """Every built-in command answers everyone in any room with a text, without a fault."""
    rooms: list[dict[str, Any]] = [
        {"seats": AGAINST_AI},
        {"seats": (AiSeat(level=1), AiSeat(persona="swindler"))},
        {},
    ]
    for fields in rooms:
        fake = FakeServer().unlimited()
        async with fake.hub() as hub, bot_of(hub) as bot:
            ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
            room = await ada.create(**fields)
            for client in (ada, cyd):
                await client.ack(client.join(room))
                for module in ("basics", "actions", "learning"):
                    for each in registry.all_commands().values():
                        if each.run.__module__ == f"server.bot.commands.{module}":
                            answer = await private_answer(client, room, f"/{each.name}")
                            assert answer["text"].strip()
                            assert not bot._calls._faults


@pytest.mark.usefixtures("plugins")
@virtual
async def test_a_public_answer_is_a_line_of_the_bot() -> None:
    """Everyone receives the line with `by` and the question's v, also clients that join later."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create()
        for client in (ada, ben):
            await client.ack(client.join(room))
        v = await ask(ada, room, "/roll")
        said = await ben.until(lambda m: m.get("kind") == "said" and "by" in m)
        assert (said["by"], said["answers"], said["identity"]) == ("bot", v, "bot")
        late = Client(hub, "late")
        await late.ack(late.join(room))
        chat_line = late.of("snapshot")[0]["chat"][-1]
        assert (chat_line["by"], chat_line["answers"]) == ("bot", v)


@pytest.mark.usefixtures("plugins")
@virtual
async def test_spectators_are_answered_among_themselves() -> None:
    """The public answer to a line for spectators goes to the spectators only."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, cyd):
            await client.ack(client.join(room))
        await cyd.ack(cyd.chat(room, "/roll", "spectators"))
        said = await cyd.until(lambda m: m.get("by") == "bot")
        assert said["to"] == "spectators"
        await ada.wait_for_v(said["v"])
        assert bot_lines(ada) == []


# --- at most once -------------------------------------------------------------------------------


async def lines_of_two_nodes() -> tuple[RoomId, Client]:
    """Asks a public question whose commit both nodes take for theirs.

    Returns the room and a reader.
    """
    fake = FakeServer()
    async with fake.hub() as one, fake.hub("n2") as two, bot_of(one) as bot, bot_of(two) as other:
        ada, reader = Client(one, "ada"), Client(two, "reader")
        room = await ada.create()
        for client in (ada, reader):
            await client.ack(client.join(room))
        commits: list[Any] = []
        one.observers.subscribe(commits.append)
        await ask(ada, room, "/roll")
        await reader.until(lambda m: m.get("by") == "bot")
        for each in (bot, other):  # as if each node believed that it committed the line
            each.on_commit(commits[0])
        await asyncio.sleep(5)
        late = Client(two, history.READER)
        await late.ack(late.join(room, since=1))
        return room, late


def check_answers(reader: Client) -> list[str]:
    """The history checker's faults in what a reader has received."""
    recorded = history.History()
    recorded.add(0, history.READER, 1, "open")
    recorded.add(0, history.READER, 1, "in", {"t": "welcome", "identity": "reader"})
    for message in reader.messages:
        if message["t"] in ("joined", "event"):
            recorded.add(0, history.READER, 1, "in", message)
    logs, _ = history._read_logs(recorded.entries)
    return list(history._check_bot(logs))


@pytest.mark.usefixtures("plugins")
@virtual
async def test_no_line_is_answered_twice() -> None:
    """I31: a line has one answer, even if two nodes take its commit for theirs."""
    _, reader = await lines_of_two_nodes()
    assert len(bot_lines(reader)) == 1
    assert check_answers(reader) == []


@pytest.mark.usefixtures("plugins")
def test_the_checker_finds_a_line_that_is_answered_twice(monkeypatch: Patch) -> None:
    """I31: with ids that do not depend on the line, and without the rule, there is a fault."""
    ids = iter(range(100))
    monkeypatch.setattr(
        "server.bot.bot.BotLine",
        lambda key, text, v, to: BotLine(f"{key} {next(ids)}", text, v, to),
    )
    monkeypatch.setattr(chat, "is_answered", lambda room, v: False)

    @virtual
    async def run() -> None:
        _, reader = await lines_of_two_nodes()
        assert any(fault.startswith("I31") for fault in check_answers(reader))

    run()


def test_only_the_bot_speaks_for_the_bot() -> None:
    """A person cannot write a line of the bot, and the bot answers only lines that exist, once."""
    played = seated()
    played.do(ADA, line("/roll"))
    v = played.room.v
    assert played.refuse(ADA, BotLine("b", "it wins", v)) is Code.SEAT_NONE
    assert played.refuse(BOT, BotLine("b", "it wins", v + 1)) is Code.MESSAGE_MALFORMED
    played.do(BOT, BotLine("b", "it wins", v))
    assert played.refuse(BOT, BotLine("c", "it loses", v)) is Code.CHAT_REPEATED


# --- commands that act --------------------------------------------------------------------------


@virtual
async def test_takeback_takes_the_askers_move_back() -> None:
    """`/takeback` does what the button does, and the bot gives the reason of a refusal in words."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, cyd):
            await client.ack(client.join(room))
        refused = await private_answer(ada, room, "/takeback")
        assert refused["text"] == "You have no move to take back."
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m.get("kind") == "moved" and m["ply"] == 1)
        assert (await private_answer(ada, room, "/takeback"))["text"] == "Your move is taken back."
        assert (await ada.event("took_back"))["to_ply"] == 0
        assert "no seat" in (await private_answer(cyd, room, "/takeback"))["text"]


@virtual
async def test_draw_offers_and_accepts() -> None:
    """`/draw` offers a draw; from the other player it accepts the offer."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create()
        for client in (ada, ben):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        assert "offer" in (await private_answer(ada, room, "/draw"))["text"]
        assert "agree" in (await private_answer(ben, room, "/draw"))["text"]
        assert (await ada.event("finished"))["how"] == "agreement"


@pytest.mark.parametrize(
    ("game", "lesson"), [("chess", "horizon"), ("sticks", "sticks"), ("hex", "alpha-cut")]
)
def test_quiz_links_to_the_lesson_of_the_game(game: str, lesson: str) -> None:
    """The game's measured file names the lesson; without a name it is that of the alpha cut."""
    room = created(game=game).room
    answer = quiz.run(Ask(room, Viewer(ADA.identity, None, is_host=True)))
    assert isinstance(answer, Answer)
    assert answer.text.endswith(f": /learn/{lesson}")


@pytest.mark.usefixtures("plugins")
@virtual
async def test_a_command_may_ask_for_a_search() -> None:
    """The search is of the class ask, for the asker; the answer has its arrows."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada = Client(hub, "ada")
        room = await ada.create(seats=AGAINST_AI)
        await ada.ack(ada.join(room))
        answer = await private_answer(ada, room, "/look")
        assert [arrow["cells"] for arrow in answer["arrows"]] == [[answer["text"].split()[-1]]]
        assert [(job.use, job.affinity) for job in fake.engines.jobs] == [("ask", "ask:ada")]


# --- faults -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plugins")
@virtual
async def test_a_command_that_fails_is_quarantined() -> None:
    """After three faults the bot does not call a command again; all others still answer."""
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub) as bot:
        ada = Client(hub, "ada")
        room = await ada.create(seats=AGAINST_AI)
        await ada.ack(ada.join(room))
        for _ in range(MAX_FAULTS):
            assert "failed" in (await private_answer(ada, room, "/broken"))["text"]
        assert bot._calls.is_quarantined(broken)
        assert "switched off" in (await private_answer(ada, room, "/broken"))["text"]
        assert "no clock" in (await private_answer(ada, room, "/clock"))["text"]


def test_a_command_that_hangs_gives_no_answer(monkeypatch: Patch) -> None:
    """A command that does not end in time counts as failed, and does not stop the event loop."""
    monkeypatch.setattr(calls, "COMMAND_S", 0.01)
    release = threading.Event()

    def hang() -> Reply:
        release.wait()
        return Answer("too late")

    async def run() -> None:
        counted = Calls()
        for _ in range(MAX_FAULTS):
            with pytest.raises(CommandFailed, match="in time"):
                await counted.call(broken, hang)
        assert counted.is_quarantined(broken)
        with pytest.raises(CommandFailed, match="switched off"):
            await counted.call(broken, lambda: Answer("not called"))

    try:
        asyncio.run(run())
    finally:
        release.set()


def test_a_command_runs_in_a_thread_of_its_own() -> None:
    """`in_thread` returns the result, or raises the exception, of a function in another thread."""

    async def run() -> None:
        work: Callable[[Callable[[], Any]], Awaitable[Any]] = in_thread
        assert await work(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await work(lambda: 1 // 0)

    asyncio.run(run())


@virtual
async def test_a_full_queue_refuses_questions() -> None:
    """Beyond MAX_QUEUED questions the bot asks the asker to ask later; the room goes on."""
    fake = FakeServer().unlimited()

    async def never(call: Callable[[], Reply]) -> Reply:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async with fake.hub() as hub, open_bot(hub, Calls(never)):
        ada = Client(hub, "ada")
        room = await ada.create(seats=AGAINST_AI)
        await ada.ack(ada.join(room))
        for _ in range(MAX_QUEUED + 20):
            ada.send_command(ada.chat(room, "/clock"))
        answer = await ada.until(lambda m: m["t"] == "answer")
        assert "too many questions" in answer["text"]
        await ada.ack(ada.move(room, 0, "b2"))


# --- limits, links and muted people ---------------------------------------------------------------


def is_accepted(played: LoggedRoom, actor: Actor, text: str) -> bool:
    """Whether the room accepts a line now."""
    return not isinstance(attempt(lambda: played.decide(actor, line(text))), CommandRejected)


def test_a_person_may_ask_six_questions_a_minute() -> None:
    """The seventh question within a minute is refused with the time to wait; no other line is."""
    played = created(seats=AGAINST_AI)
    for number in range(6):
        played.now_ms += 5_000
        played.do(ADA, line("/why" if number % 2 else "Why?"))
    asked_ms = played.room.question_stamps[0].at_ms
    played.now_ms = asked_ms + 30_000
    refused = attempt(lambda: played.decide(ADA, line("/why")))
    assert isinstance(refused, CommandRejected)
    assert (refused.code, "try again in 30 s" in refused.message) == (Code.RATE_EXCEEDED, True)
    assert is_accepted(played, ADA, "that is no question")
    assert is_accepted(played, CYD, "/why")
    played.now_ms = asked_ms + QUESTION_WINDOW_MS - 1
    assert not is_accepted(played, ADA, "Why?")
    played.now_ms += 1
    assert is_accepted(played, ADA, "Why?")


def test_a_room_has_twenty_questions_a_minute() -> None:
    """The twenty-first question in a room within a minute is refused to everyone."""
    played = created(seats=AGAINST_AI)
    for number in range(20):
        played.now_ms += 1_000
        played.do(Actor(IdentityId(f"p{number // 5}"), "P"), line("/why"))
    assert not is_accepted(played, CYD, "/why")
    assert played.fold().question_stamps == played.room.question_stamps
    played.now_ms = played.room.question_stamps[0].at_ms + QUESTION_WINDOW_MS
    assert is_accepted(played, CYD, "/why")


@pytest.mark.parametrize(
    ("since_ms", "links"), [(None, False), (-86_399_000, False), (-86_400_000, True)]
)
@virtual
async def test_addresses_are_links_a_day_after_the_guest_was_made(
    since_ms: int | None, links: bool
) -> None:
    """The lines of a guest made less than a day ago, or of unknown age, have no links."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        made_ms = None if since_ms is None else START_MS + since_ms
        ada.actor = Actor(ada.actor.identity, "Ada", since_ms=made_ms)
        room = await ada.create()
        await ada.ack(ada.join(room))
        await ada.ack(ada.chat(room, "see https://example.org"))
        assert (await ada.event("said")).get("links", False) is links


def test_a_host_mutes_and_unmutes() -> None:
    """The room refuses the lines and questions of a muted person until the host unmutes them.

    Only the host may mute, and only people who have written; the host cannot be muted.
    """
    played = seated()
    played.do(CYD, line("hello"))
    mute = Mute("m", CYD.identity)
    assert played.refuse(BEN, mute) is Code.HOST_ONLY
    assert played.refuse(ADA, Mute("m", BEN.identity)) is Code.MUTE_NONE
    assert played.refuse(ADA, Mute("m", ADA.identity)) is Code.MUTE_NONE
    played.do(ADA, mute)
    assert played.refuse(CYD, line("hello again")) is Code.CHAT_MUTED
    assert played.refuse(CYD, line("/rules")) is Code.CHAT_MUTED
    assert played.refuse(ADA, mute) is Code.MUTE_NONE
    assert [each.name for each in played.fold().muted] == ["Cyd"]
    played.do(ADA, Unmute("m", CYD.identity))
    assert played.refuse(ADA, Unmute("m", CYD.identity)) is Code.MUTE_NONE
    played.do(CYD, line("thank you"))


@virtual
async def test_a_store_that_fails_makes_no_second_answer() -> None:
    """A command that acts is given again after a failure of the store, with the same id."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada = Client(hub, "ada")
        room = await ada.create(seats=AGAINST_AI)
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m.get("kind") == "moved" and m["ply"] == 1)
        v = await ask(ada, room, "/takeback")
        fake.store.fail("append", Fault(after=True))
        answer = await ada.until(lambda m: m["t"] == "answer" and m["v"] == v)
        assert answer["text"] == "Your move is taken back."
        assert len([m for m in ada.events() if m["kind"] == "took_back"]) == 1
        repeated = await hub.command(room, ada.actor, Chat(f"bot:{v}", "hello"))
        assert not isinstance(repeated, Rejected)
