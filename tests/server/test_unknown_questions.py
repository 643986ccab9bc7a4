"""A question that the bot does not understand is answered once, where nobody else can answer it."""

import pytest

from engine.rules.registry import game_ids, load_game
from server.bot.bot import KNOWN_QUESTIONS
from server.bot.explanations.rules_text import find_passage
from server.commands import AiSeat, MySeat, OpenSeat
from server.questions import Question, parse_question
from tests.support.bots import AGAINST_AI, ask, bot_of, private_answer
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual


@virtual
async def test_the_first_unknown_question_of_a_player_is_answered() -> None:
    """The player against an AI learns what the bot understands, once; nobody else sees it."""
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub):
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, cyd):
            await client.ack(client.join(room))
        await ask(ada, room, "good luck")
        answer = await private_answer(ada, room, "do you like trains?")
        assert answer["text"] == KNOWN_QUESTIONS
        await ask(ada, room, "and planes?")
        await ask(cyd, room, "is this chess?")
        await run_ready_tasks()
        assert len(ada.of("answer")) == 1
        assert cyd.of("answer") == []
        assert len(ada.events()) == len(cyd.events())


@pytest.mark.parametrize("opponent", [AiSeat(level=1), OpenSeat()], ids=["ai", "a person"])
@virtual
async def test_questions_between_people_are_theirs(opponent: AiSeat | OpenSeat) -> None:
    """The bot answers no unknown question while another person holds a seat, or of a spectator."""
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=(MySeat(), opponent))
        for client in (ada, ben):
            await client.ack(client.join(room))
        if isinstance(opponent, OpenSeat):
            await ben.ack(ben.sit(room, 1))
        await ask(ben, room, "do you like trains?")
        await run_ready_tasks()
        assert ada.of("answer") == ben.of("answer") == []


@virtual
async def test_how_to_win_is_answered_in_a_sentence() -> None:
    """The answer to the example of the bot's introduction is the goal alone, and where the rules
    are.
    """
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada = Client(hub, "ada")
        room = await ada.create(game="chess", seats=(MySeat(), OpenSeat()))
        await ada.ack(ada.join(room))
        answer = await private_answer(ada, room, "@bot, how do I win?")
        goal = load_game("chess").goal
        assert answer["text"] == f"{goal}\n/rules gives all rules."
        await ask(ada, room, "/rules Goal")
        await run_ready_tasks()
        assert ada.of("answer")[-1]["text"] == answer["text"], "capital letters ask the same"
        assert len(ada.of("answer")) == 2


def test_the_questions_that_the_answer_names_are_understood() -> None:
    """Each example in the answer is a plain question."""
    examples = KNOWN_QUESTIONS.split('"')[1::2]
    assert len(examples) == 3
    assert all(parse_question(each, has_ai=True) for each in examples)


@pytest.mark.parametrize(
    ("text", "command", "words"),
    [
        ("@bot how good is my position?", "eval", ()),
        ("@bot how do I take back a move?", "help", ("takeback",)),
    ],
)
def test_a_word_of_every_rules_text_finds_no_rule(
    text: str, command: str, words: tuple[str, ...]
) -> None:
    """Questions about the match are no questions about the rules, which have their words too."""
    assert parse_question(text, has_ai=False) == Question(command, words)
    for game_id in game_ids():
        assert find_passage(load_game(game_id).rules.RULES, "is this a good position") is None
