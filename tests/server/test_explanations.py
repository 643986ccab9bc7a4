"""server/bot/explanations: an independent parser reads the bot's sentences about moves back."""

import re
from collections.abc import Callable, Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.game import GameError, Position
from engine.rules.registry import game_ids, load_game
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.job import Info, Job, Result, RootMove
from engine.search.persona import Personas
from server.bot.commands.positions import hint_answer
from server.bot.explanations import english
from server.bot.explanations.facts import MoveFacts, Verdict, move_facts
from server.bot.searches import Findings
from server.events import Occupant
from server.protocol.wording import StoredThought, careless_note
from server.rooms.thinking import search_seed
from server.seats.ai import _stored_analysis
from tests.oracle.explanations import Oracle
from tests.server.test_wording import reports

#: The match of the thoughts of this module.
MATCH = "m1"


class Case(msgspec.Struct):
    """A stored thought about a move: the position before it, its ply, and the AI that played it."""

    position: Position
    ply: int
    thought: StoredThought
    occupant: Occupant

    @property
    def facts(self) -> MoveFacts:
        return move_facts(self.position, self.ply, self.occupant, MATCH, self.thought)

    def oracle(self) -> Oracle:
        level = None if self.thought.warming else self.occupant.level
        seed, digest = search_seed(MATCH, self.ply), self.position.digest()
        note = careless_note(
            self.position.game, level, seed, digest, self.thought, self.thought.move
        )
        name = f"Level {self.occupant.level}" if self.occupant.level else "The AI"
        is_careless = bool(note) and len(self.position.moves()) > 1
        if self.occupant.persona:
            name = f"The {self.occupant.persona}"
        has_means = self.occupant.persona == "average"
        return Oracle(self.position, self.ply, self.thought, name, is_careless, has_means)

    def check(self, seed: str) -> str:
        """Asserts that the sentences that this seed chooses are true, and returns them."""
        text = english.explain_move(self.facts, seed)
        self.oracle().check(text)
        return text


def ai(level: int | None = None, persona: str | None = None) -> Occupant:
    return Occupant(kind="ai", name="AI", identity="", level=level, persona=persona)


def played_cases(
    game_id: str, level: int | None, plies: int, *, compiled: bool = False,
    persona: str | None = None, match: int = 0,
) -> Iterator[Case]:  # fmt: skip
    """Yields the stored thoughts of a match that an AI plays against itself."""
    game = load_game(game_id)
    searcher = Searcher(game, compiled=compiled)
    personas = Personas(searcher) if persona else None
    position = start = game.start()
    moves: tuple[str, ...] = ()
    occupant = ai(level, persona)
    while len(moves) < plies and position.moves():
        job = Job(
            game_id, game.digest, {}, start.text(), moves, "r", level=level, persona=persona,
            seed=search_seed(f"{MATCH}" if not match else f"{MATCH}-{match}", len(moves)),
        )  # fmt: skip
        if personas is None:
            result = answer(job, searcher, lambda: Table(10), Control())
        else:
            result = personas.answer(job, Control())
        body = msgspec.json.encode(_stored_analysis(result))
        thought = msgspec.json.decode(body, type=StoredThought)
        yield Case(position, len(moves), thought, occupant)
        moves = (*moves, result.move)
        position = position.replay(result.move)


@st.composite
def cases(draw: st.DrawFn, game_id: str) -> Case:
    """Draws a thought with random scores and bounds, and the move that was played."""
    position, ply, info = draw(reports(load_game(game_id)))
    moves = [move.move for move in info.moves]
    thought = StoredThought(
        depth=draw(st.integers(1, 9)), score=info.score, pv=info.pv, moves=info.moves,
        depths=info.depths, warming=draw(st.booleans()), move=draw(st.sampled_from(moves)),
    )  # fmt: skip
    personas = st.sampled_from(["average", "swindler"])
    level = draw(st.none() | st.integers(1, 8))
    persona = draw(st.none() | personas) if level is None else None
    levels = load_game(game_id).levels
    return Case(position, ply, thought, ai(min(level, levels) if level else None, persona))


@pytest.mark.parametrize("game_id", [name for name in game_ids() if load_game(name).levels])
def test_every_fact_of_a_text_is_true(game_id: str) -> None:
    """Each move, chance, bound, distance, role and line in a text is that of the stored thought."""

    @given(cases(game_id), st.integers(0, 10**6))
    @settings(max_examples=20, deadline=None)
    def is_true(case: Case, seed: int) -> None:
        case.check(str(seed))

    is_true()


@pytest.mark.parametrize("game_id", ["tic-tac-toe", "connect-four"])
def test_texts_about_stored_moves_are_true(game_id: str) -> None:
    """The texts about the moves of a match of level 2 say what its searches stored; hardly any two
    of them are the same.
    """
    texts = [
        case.check(f"{MATCH}:{case.ply}") for case in played_cases(game_id, 2, plies=9)
    ]  # fmt: skip
    assert len(set(texts)) >= len(texts) - 2


def test_the_seed_alone_chooses_the_words() -> None:
    """The same facts and seed give the same text on every node; other seeds give other texts."""
    case = next(iter(played_cases("connect-four", 3, plies=1)))
    texts = {seed: case.check(seed) for seed in map(str, range(40))}
    assert texts == {seed: case.check(seed) for seed in texts}
    assert len(set(texts.values())) >= 8


def test_a_move_without_a_search_is_called_random() -> None:
    """A random move has no reason, and no chance."""
    position = load_game("chess").start()
    thought = StoredThought(pv=("e2e4",), move="e2e4")
    text = Case(position, 0, thought, ai(persona="random")).check("1")
    assert "random" in text
    assert "%" not in text


def test_a_strategy_speaks_in_its_own_units() -> None:
    """The text has a strategy's value unchanged, and no chance to win."""
    position = load_game("chess").start()
    thought = StoredThought(depth=3, score=4, pv=("e2e4", "e7e5"), value="+3.5", move="e2e4")
    text = Case(position, 0, thought, ai()).check("1")
    assert "+3.5" in text
    assert "%" not in text


def _replace(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


#: Faults of templates and facts: what each replaces in the texts.
FAULTS: dict[str, Callable[[str], str]] = {
    "a bound has the wrong direction": _replace("at most", "at least"),
    "a bound is called exact": _replace("at most ", ""),
    "the bound of a distance is lost": _replace("within", "in"),
    "a win is called a loss": _replace("forced win", "forced loss"),
    "a distance is one move too long": lambda text: re.sub(
        r"(in|within) (\d+) moves?", lambda m: f"{m[1]} {int(m[2]) + 1} moves", text
    ),
    "a chance is one percent too high": lambda text: re.sub(
        r"(\d+) %", lambda m: f"{int(m[1]) + 1} %", text
    ),
    "a judgement is too good": _replace("(even)", "(a little better)"),
    "another move is called the second best": lambda text: re.sub(
        r"For comparison, (\S+) had", r"Second best was \1, with", text
    ),
    "one losing move too many": lambda text: re.sub(
        r"(\d+)( of the)? other moves lose", lambda m: f"{int(m[1]) + 1}{m[2] or ''} other moves"
        " lose", text
    ),
    "all moves lose": _replace("One other move loses by force.", "All other moves lose by force."),
    "the line has the wrong number": lambda text: re.sub(
        r"(\d+)(\.+) ", lambda m: f"{int(m[1]) + 1}{m[2]} ", text
    ),
    "the depth is wrong": lambda text: re.sub(
        r"(\d+) plies", lambda m: f"{int(m[1]) + 1} plies", text
    ),
    "the wrong move is best": lambda text: re.sub(
        r"preferred (\S+),(.*?)(?=For comparison, (\S+) had)", r"preferred \3,\2", text
    ),
    "a mean is called a chance": lambda text: re.sub(
        r"(\d+) on average", lambda m: f"{int(m[1]) % 100} % to win", text
    ),
    "a mean is off by one": lambda text: re.sub(
        r"(\d+) on average", lambda m: f"{int(m[1]) + 1} on average", text
    ),
    "the careless move is not named": lambda text: re.sub(
        r" ?Level \d (was careless here|looked one move ahead here,) on purpose\.", "", text
    ),
}  # fmt: skip


def random_texts() -> list[tuple[Case, str]]:
    """Texts about random thoughts of two games, which are true."""
    found: list[tuple[Case, str]] = []

    @given(st.sampled_from(["chess", "connect-four"]).flatmap(cases), st.integers(0, 99))
    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    def collect(case: Case, seed: int) -> None:
        found.append((case, case.check(str(seed))))

    collect()
    return found


def careless_cases() -> list[Case]:
    """Moves of level 3 in chess where it looked one move ahead and did not play the best it found,
    with a verdict on the move and without one.
    """
    position = load_game("chess").start()
    moves = (RootMove("e2e4", 30), RootMove("a2a3", -90))
    thoughts = [
        StoredThought(depth=1, score=30, pv=("e2e4",), moves=moves, move=move)
        for move in ("a2a3", "h2h3")
    ]
    cases = [Case(position, ply, each, ai(3)) for ply in range(99) for each in thoughts]
    careless = [case for case in cases if case.facts.note]
    assert {case.facts.note.split()[2] for case in careless} == {"was", "looked"}
    return careless


def test_faults_in_the_templates_are_found() -> None:
    """The parser finds every planted fault of a text, so it reads every fact."""
    cases = [*played_cases("kalah", 2, plies=6), *careless_cases()]
    texts = random_texts() + [(case, case.check(str(case.ply))) for case in cases]
    for name, plant in FAULTS.items():
        changed = [(case, plant(text)) for case, text in texts if plant(text) != text]
        assert changed, f"no text can have this fault: {name}"
        found = 0
        for case, text in changed:
            try:
                case.oracle().check(text)
            except (AssertionError, GameError):
                found += 1
        assert found == len(changed), f"{name}: {found} of {len(changed)} found"


#: The matches of the long test: a game, a level or persona, and the plies of each match.
MATCHES = (
    ("chess", 4, None, 60), ("chess", None, "swindler", 30), ("othello", 5, None, 60),
    ("kalah", 4, None, 60), ("connect-four", 6, None, 42), ("draughts", 5, None, 60),
    ("nine-mens-morris", 5, None, 60), ("hex", 3, None, 60), ("gomoku", 3, None, 60),
    ("breakthrough", 6, None, 60), ("tic-tac-toe", 3, None, 9), ("chess", None, "average", 20),
    ("chess", 6, None, 60), ("sticks", 4, None, 40),
)  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(1800)  # without a cache it compiles ten games
def test_500_texts_about_stored_moves_are_true() -> None:
    """No fact is false in the texts about 500 moves of levels and personas of at least 6 games."""
    texts, games = list[str](), set[str]()
    for game_id, level, persona, plies in MATCHES:
        for case in played_cases(game_id, level, plies, compiled=True, persona=persona):
            texts.append(case.check(f"{MATCH}:{case.ply}"))
            games.add(game_id)
    assert len(texts) >= 500
    assert len(games) >= 6


@pytest.mark.parametrize(
    ("says", "length", "expected"),
    [
        ("loses in 12 moves", "in 12 moves", "d holds out longest: it loses in 12 moves."),
        ("loses by 4 discs", "by 4 discs", "d loses least: by 4 discs."),
        ("loses", "", "d is no worse than any other."),
        ("", "within 3 moves", "d holds out longest, as far as the bot sees: a forced loss within"),
    ],
)
def test_a_hint_says_when_every_move_loses(says: str, length: str, expected: str) -> None:
    """The best move of a lost position is called neither good nor best, and no more is said of it
    than the search knows.
    """
    best = Verdict(text="d", chance=0, forced="loss", says=says, length=length)
    assert english.best_move(best).startswith(f"Every move loses here. {expected}")
    assert "best move is" not in english.best_move(best)
    assert english.best_moves([best, best]).startswith("Every move loses here. The best moves:\n1)")
    even = Verdict(text="d", chance=50)
    assert english.best_move(even).startswith("The best move is d: ")
    assert english.best_move(even, are_equal=True).startswith("d is as good as any: ")
    assert english.best_moves([even, even]).startswith("The best moves:\n1)")


def test_a_hint_says_when_no_move_stands_out() -> None:
    """Moves with one score are marked alike, and the first hint calls none of them the best."""
    position = load_game("tic-tac-toe").start()

    def findings(*scores: int) -> Findings:
        moves = tuple(map(RootMove, ("b2", "a1", "c3"), scores))
        info = Info(4, scores[0], 1, 1, 1, ("b2",), moves)
        return Findings(position, 0, Result("b2", info))

    alike = hint_answer(findings(0, 0, 0), "piece")
    assert alike.text == "No move stands out: a1, b2 and c3 seem equally good."
    assert [each.kind for each in findings(0, 0, 0).arrows()] == ["best"] * 3
    assert hint_answer(findings(9, 0, 0), "piece").text.startswith("One of these is the best move")
    assert [each.kind for each in findings(9, 0, 0).arrows()] == ["best", "other", "other"]
