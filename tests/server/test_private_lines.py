"""A line to the room's bot whose answer is private is private too: nobody else can read it.

The bot hears its name between people, and answers from the rules.
"""

import json
from collections import Counter

import pytest

from engine.rules.registry import game_ids, load_game
from server.bot.bot import KNOWN_QUESTIONS, Bot
from server.bot.explanations.rules_text import COMMON, find_passage
from server.bot.registry import kind_of_question
from server.codes import Code
from server.commands import AiSeat, MySeat, OpenSeat, Resign
from server.events import Said
from server.ids import IdentityId, RoomId
from server.protocol.views import snapshot
from server.questions import UNKNOWN, Question, parse_question
from server.rooms import rules
from server.rooms.model import SNAPSHOT_CHAT_LINES, Actor, CommandRejected, Moment
from server.rooms.muting import people_to_mute
from server.settings import CHAT_STAMPS, Settings
from server.store.base import AUTHOR, EVERYONE
from tests.support.bots import ask, bot_lines, bot_of, private_answer
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual
from tests.support.room_log import ADA, BEN, CYD, LoggedRoom, seated
from tests.support.room_log import chat as line

#: A word that no message to another person may have.
CANARY = "xyzzycanary"
#: Lines to the bot whose answers are private.
LINES = (
    f"/help {CANARY}", f"/{CANARY}", f"/hint {CANARY}", f"/coach on {CANARY}",
    f"@bot what should I play {CANARY}", f"bot, {CANARY}",
)  # fmt: skip


@virtual
async def test_nobody_else_reads_a_private_line() -> None:
    """The opponent and spectators, on the same and on another node, live, after a reconnect and
    in a snapshot, receive `hidden` events in its place; all tabs of the author receive it.
    """
    fake = FakeServer().unlimited()
    async with (
        fake.hub() as one, bot_of(one), fake.hub("n2") as two, bot_of(two) as far,
    ):  # fmt: skip
        ada, tab, ben = Client(one, "ada"), Client(two, "ada"), Client(one, "ben")
        others = [ben, Client(one, "cyd"), Client(two, "cyd"), Client(two, "ben")]
        room = await ada.create(seats=(MySeat(), OpenSeat()))
        for client in (ada, tab, *others):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        since = len(ada.events())
        for text in LINES:
            await private_answer(ada, room, text)
        await run_ready_tasks()
        said = [
            [m["text"] for m in client.events() if m["kind"] == "said"] for client in (ada, tab)
        ]
        assert said == [list(LINES)] * 2
        late = [Client(hub, name) for hub in (one, two) for name in ("ben", "dan")]
        for client in late:
            await client.ack(client.join(room))
        again = [Client(hub, name) for hub in (one, two) for name in ("ben", "dan")]
        for client in again:
            await client.ack(client.join(room, since=since))
        for client in (*others, *late, *again):
            assert CANARY not in json.dumps(client.messages)
        hidden = [[m for m in client.events() if m["kind"] == "hidden"] for client in others]
        assert [len(each) for each in hidden] == [len(LINES)] * len(others)
        assert coach_is_on(far, room)
        back, resumed = Client(two, "ada"), Client(one, "ada")
        await back.ack(back.join(room))
        await resumed.ack(resumed.join(room, since=since))
        assert [line["text"] for line in back.of("snapshot")[0]["chat"]] == list(LINES)
        assert [m["text"] for m in resumed.events() if m["kind"] == "said"] == list(LINES)


def coach_is_on(bot: Bot, room: RoomId) -> bool:
    """Whether the coach is on for somebody, as this node knows."""
    return bool(bot.switches.people(room, "coach"))


@virtual
async def test_the_log_keeps_private_lines_and_who_may_read_them() -> None:
    """A private line is in the log with the audience AUTHOR; a public answer's line is for all."""
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub):
        ada = Client(hub, "ada")
        room = await ada.create(seats=(AiSeat(level=1), MySeat()))
        await ada.ack(ada.join(room))
        await ada.event("moved")
        await ask(ada, room, "/rules")
        await ask(ada, room, "/why")
        await ask(ada, room, "what are the rules?")
        entries = await fake.store.logs.events(room, 0, 100)
        said = [entry for entry in entries if b'"said"' in entry.body]
        lines = [entry for entry in said if b'"by"' not in entry.body]
        assert [entry.audience for entry in lines] == [AUTHOR, EVERYONE, EVERYONE]


def test_private_lines_are_seen_in_no_list() -> None:
    """The host may not mute the author of private lines only: that would tell of them. A snapshot
    has them for their author alone.
    """
    played = seated()
    played.do(CYD, line(f"/{CANARY}"))
    assert people_to_mute(played.room) == []
    assert [each.text for each in snapshot(played.room, False, "cyd").chat] == [f"/{CANARY}"]
    assert snapshot(played.room, False, "ben").chat == snapshot(played.room, True).chat == ()


def test_private_lines_push_no_other_line_out() -> None:
    """A room keeps as many private lines as others, and the newest of each."""
    played = seated()
    played.do(ADA, line("hello"))
    for number in range(SNAPSHOT_CHAT_LINES + 3):
        played.append(Said("cyd", "Cyd", f"/x {number}", "author", cheap=True))
    texts = [each.text for each in played.room.chat]
    assert texts == ["hello", *(f"/x {n}" for n in range(3, SNAPSHOT_CHAT_LINES + 3))]
    assert played.fold().chat == played.room.chat


def test_cheap_questions_do_not_count_as_searches() -> None:
    """After more cheap questions than searches are allowed, a person may still ask for a search.
    Cheap ones have a limit of their own, for a person and for all spectators of a room, and never
    stop the chat. What spectators ask leaves the players all that is theirs.
    """
    played = seated()
    for number in range(20):
        assert ask_at(played, ADA, "/help", number * 100)
    assert not ask_at(played, ADA, "/rules", 3_000)
    assert ask_at(played, ADA, "hello all", 3_000)
    assert played.room.question_stamps == ()
    dan = Actor(IdentityId("dan"), "Dan")
    for number in range(20):
        assert ask_at(played, CYD, f"/x{number}", 4_000 + number)
        assert ask_at(played, dan, f"/y{number}", 4_000 + number)
    eve = Actor(IdentityId("eve"), "Eve")
    assert not ask_at(played, eve, "/help", 5_000)
    assert ask_at(played, BEN, "/help", 5_000)
    assert ask_at(played, BEN, "hello Ada", 5_000)
    assert ask_at(played, eve, "/help", 65_000)
    for number in range(6):
        assert ask_at(played, ADA, "/hint", 70_000 + number)
    assert not ask_at(played, ADA, "/hint", 71_000)
    assert ask_at(played, ADA, "/clock", 71_000)


@pytest.mark.parametrize(("text", "limit", "room_limit"), [("/help", 20, 40), ("/eval", 6, 20)])
def test_lines_to_the_bot_are_limited_whoever_else_writes(
    text: str, limit: int, room_limit: int
) -> None:
    """Players and spectators who write in turn, as one person with many guests may, get no more
    than each player's limit and the spectators' one in a minute, at the highest limits too.
    """
    guests = [Actor(IdentityId(name), name) for name in ("dan", "eve", "fay", "gil")]
    for lines, room_lines in ((limit, room_limit), (CHAT_STAMPS, CHAT_STAMPS)):
        played = seated()
        settings = Settings(
            limit_private=lines, limit_private_room=room_lines,
            limit_questions=lines, limit_questions_room=room_lines,
        )  # fmt: skip
        accepted = Counter(
            actor.identity
            for number in range(200)
            for actor in (ADA, BEN, *guests)
            if ask_at(played, actor, text, number * 10, settings)
        )
        assert accepted[ADA.identity] == accepted[BEN.identity] == lines
        assert accepted.total() == 2 * lines + room_lines
        assert played.fold() == played.room


def ask_at(
    played: LoggedRoom, actor: Actor, text: str, after_ms: int, settings: Settings | None = None
) -> bool:
    """Whether the room accepts a line at a time; it then is in the log."""
    at_ms = 1_000_000 + after_ms
    moment = Moment(
        actor, at_ms, at_ms, played.new_id, settings or Settings(), load_game,
        kind_of_question=kind_of_question,
    )  # fmt: skip
    try:
        events = rules.decide(played.room, line(text), moment)
    except CommandRejected as rejected:
        return rejected.code is not Code.RATE_EXCEEDED
    played.now_ms = at_ms
    for event in events:
        played.append(event)
    return True


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("@bot who is winning?", Question("eval")),
        ("bot, a hint please", Question("hint")),
        ("hey Plyroom, what are the rules?", Question("rules")),
        ("hello bot, how do I castle?", Question(UNKNOWN)),
        ("well @bot?", Question(UNKNOWN)),
        ("hi @bot, who is winning?", Question("eval")),
        ("Hi Ben, do you play chess? @bot how do I play?", Question("rules")),
        ("Ben, I win. @Plyroom who is winning?", Question("eval")),
        ("who is winning, @bot?", Question("eval")),
        ("Plyroom has chess?", Question(UNKNOWN)),
        ("plyroom is nice", None),
        ("who is winning?", None),
        ("I am a bot, too", None),
        ("bottom row, who is winning?", None),
        ("mail me@bottle.example", None),
    ],
)
def test_the_bot_hears_its_name_between_people(text: str, question: Question | None) -> None:
    """Between people a line is for the bot only if it calls the bot."""
    assert parse_question(text, has_ai=False) == question


@virtual
async def test_a_line_that_calls_the_bot_after_other_words_is_for_the_room() -> None:
    """Everybody reads it as it was written; the bot answers its author alone, and reads only what
    follows the call. As a line to the room it may not be repeated.
    """
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create("chess", seats=(MySeat(), OpenSeat()))
        for client in (ada, ben):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        text = "Hi Ben, have you played kalah? @bot how do I play?"
        answer = await private_answer(ada, room, text)
        assert answer["text"] == (await private_answer(ada, room, "/rules"))["text"]
        castling = "Ben, do not be bored. @bot may I castle?"
        answer = await private_answer(ada, room, castling)
        assert answer["text"].startswith("Castling: ")
        assert [m["text"] for m in ben.events() if m["kind"] == "said"] == [text, castling]
        assert await ada.expect_refusal(ada.chat(room, castling)) == Code.CHAT_REPEATED
        assert ben.of("answer") == []


@virtual
async def test_why_is_private_where_no_ai_has_moved() -> None:
    """In a match of two people /why and its answer are the asker's, also when the match is over."""
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=(MySeat(), OpenSeat()), help=True)
        for client in (ada, ben):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "a1"))
        await private_answer(ada, room, f"/why {CANARY}")
        await ben.ack(ben.plain(Resign, room))
        answer = await private_answer(ada, room, f"/why {CANARY}")
        assert answer["text"] == "No AI has played a move in this match yet."
        assert bot_lines(ben) == []
        assert CANARY not in json.dumps(ben.messages)


@virtual
async def test_between_people_the_bot_answers_those_who_call_it() -> None:
    """A question about the rules is answered from them; help with the position is refused with the
    reason; any other call is answered with what the bot understands. Nobody else is answered.
    """
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create("chess", seats=(MySeat(), OpenSeat()))
        for client in (ada, ben):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        castling = await private_answer(ada, room, "hello bot, how do I castle?")
        assert castling["text"].startswith("Castling: a king that has not moved")
        winning = await private_answer(ada, room, "@bot who is winning?")
        assert winning["text"] == (
            "In this room two people play each other without help;"
            " ask again when the match is over."
        )
        trains = await private_answer(ada, room, "bot, do you like trains?")
        assert trains["text"] == KNOWN_QUESTIONS
        await ask(ada, room, "how do I castle?")
        await run_ready_tasks()
        assert len(ada.of("answer")) == 3
        assert ben.of("answer") == bot_lines(ben) == []


@pytest.mark.parametrize("game_id", game_ids())
def test_questions_are_answered_from_the_rules_of_every_game(game_id: str) -> None:
    """Each word of the rules that is not common finds a passage of them; a word that they do not
    have finds none.
    """
    rules_text = load_game(game_id).rules.RULES
    on_one_line = " ".join(rules_text.split())
    words = {word for word in rules_text.lower().split() if word.isalpha()}
    wanted = [word for word in words if len(word) > 2 and word not in COMMON]
    passages = {word: find_passage(rules_text, f"how does {word} work?") for word in wanted}
    for word, passage in passages.items():
        assert passage is not None, word
        assert passage in on_one_line
    literal = sum(word in (passage or "").lower() for word, passage in passages.items())
    assert literal > 0.7 * len(wanted)  # the others share a stem with the word
    assert find_passage(rules_text, "what about the weather?") is None


@pytest.mark.parametrize(
    ("game_id", "question", "beginning"),
    [
        ("chess", "how do I castle?", "Castling:"),
        ("chess", "what is en passant?", "En passant:"),
        ("chess", "can a pawn be promoted?", "Promotion:"),
        ("othello", "may I pass?", "A player who cannot enclose anything must pass"),
        ("nine-mens-morris", "how do mills work?", "Three of your men in a row"),
        ("hex", "can I swap?", "So Blue may swap"),
        ("kalah", "when do I capture?", "If it falls into an empty house of yours, you capture"),
    ],
)
def test_a_question_finds_the_sentence_that_answers_it(
    game_id: str, question: str, beginning: str
) -> None:
    """Words that few sentences have decide."""
    passage = find_passage(load_game(game_id).rules.RULES, question)
    assert passage is not None
    assert passage.startswith(beginning)
