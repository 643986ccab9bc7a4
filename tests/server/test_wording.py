"""Words for searches: an independent parser reads them back, and no bound is worded as exact."""

import re
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.game import Game, Position
from engine.rules.registry import game_ids, load_game
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.job import MATE, Bound, Counts, DepthBest, Info, Job, RootMove
from engine.search.levels import level_of
from engine.search.persona import Personas
from engine.search.report import line_tokens
from engine.win_chance import win_chance
from server.protocol.assessments import Assessment
from server.protocol.wording import (
    MAX_CANDIDATES,
    MAX_OTHERS,
    StoredThought,
    Wording,
    bounded_percent,
    careless_note,
    choice_note,
    says,
    with_mean,
    work_text,
)
from server.seats.ai import _stored_analysis
from tests.support.room_log import altered_game, failing_rule

SENTENCE = re.compile(
    r"(?P<side>[\w ]+?) likes? (?P<best>\S+)"
    r"(?:: (?:it expects|they expect) (?P<line>.+?) and| and) "
    r"(?:thinks? (?P<judged>.+)|sees? (?P<found>a (?:win|loss) (?:at once|within \d+ moves?))"
    r"|(?:has|have) "
    r"(?P<proved>proved a (?:win|loss|draw)(?: (?:at once|in \d+ moves?|by \d+ \w+))?))\."
)
#: An exact chance, a bound of one, and a forced end.
SAYS = re.compile(
    r"(?:(?P<bound>worse|better) than )?(?P<chance>\d+) %"
    r"|(?P<verb>wins|loses|draws)(?: (?P<length>at once|(?:in|within) \d+ moves?|by \d+ \w+))?"
    r"|no faster win|not known"
)
#: The judgements from the best to the worst, with the least chance in percent of each.
LADDER = (
    (90, "winning"), (75, "clearly better"), (55, "a little better"), (46, "the chances are even"),
    (26, "a little worse"), (11, "clearly worse"), (0, "losing"),
)  # fmt: skip
SCORES = st.integers(-2_000, 2_000) | st.integers(1, 60).map(lambda plies: MATE - plies)
SCORES |= SCORES.map(lambda score: -score)
BOUNDS: tuple[Bound, ...] = ("exact", "lower", "upper")
GAMES = ("chess", "connect-four", "othello", "kalah", "tic-tac-toe", "hex", "draughts")


@dataclass
class Parsed:
    """What a sentence says, read back with the rules of the game."""

    side: str
    line: list[str]
    judgement: str


def parse_sentence(text: str, position: Position, ply: int) -> Parsed:
    """Reads a sentence back: the side, the moves of the line as tokens, and the judgement.

    It checks the number of each move that has one, by counting the moves of the match.
    """
    match = SENTENCE.fullmatch(text)
    assert match is not None, text
    tokens = read_line(f"{match['best']} {match['line'] or ''}", position, ply)
    judged = match["judged"] or match["found"] or match["proved"]
    return Parsed(match["side"], tokens, re.sub(rf"^that {match['side']} (is|are) ", "", judged))


def read_line(text: str, position: Position, ply: int) -> list[str]:
    """Reads moves in notation, some with numbers, as tokens; the numbers must be right."""
    tokens = []
    number = None
    for word in text.split():
        if re.fullmatch(r"\d+\.(\.\.)?", word):
            number = word
            continue
        move = position.parse_move(word)
        if number is not None:
            assert number == counted(position, ply), text
        tokens.append(position.format_move(move))
        position, ply, number = position.play(move), ply + 1, None
    assert number is None, "every number belongs to a move"
    return tokens


def counted(position: Position, ply: int) -> str:
    """The number of the next move, counted as the game counts."""
    if position.game.rules.NUMBERING == "ply":
        return f"{ply + 1}."
    return f"{ply // 2 + 1}{'...' if position.turn else '.'}"


def expected_judgement(game: Game, best: RootMove) -> str:
    """The judgement of a move: what a solver has proved, a forced end, or what the chance says that
    the game's scale gives its score.
    """
    score = best.score
    plies = MATE - abs(score)
    moves = plies if game.rules.NUMBERING == "ply" else (plies + 1) // 2
    word = "in" if best.proven else "within"
    length = " at once" if plies <= 1 else f" {word} {moves} move{'s' if moves > 1 else ''}"
    if best.proven:
        noun = {0: "draw", 1: "win", -1: "loss"}[(score > 0) - (score < 0)]
        if best.lead is not None:
            unit = game.rules.POINTS_UNIT
            length = f" by {abs(best.lead)} {unit.rstrip('s') if abs(best.lead) == 1 else unit}"
        return f"proved a {noun}{length if score and best.bound == 'exact' else ''}"
    if plies < 1_000:
        return f"a {'win' if score > 0 else 'loss'}{length}"
    chance = min(99, max(1, round(100 * win_chance(game, score))))
    return next(words for least, words in LADDER if chance >= least)


def assert_says_what_it_knows(
    assessment: Assessment, report: Info | StoredThought, position: Position, ply: int
) -> None:
    """Asserts that an assessment, read back, is that of the report."""
    parsed = parse_sentence(assessment.sentence, position, ply)
    board = position.game.board(position.options)
    assert parsed.side == board.seats[position.turn].name
    assert tuple(parsed.line) == report.pv[:3]
    known = {move.move: move for move in report.moves}
    if not known[report.pv[0]].proven:
        known[report.pv[0]] = RootMove(report.pv[0], report.score)
    assert parsed.judgement == expected_judgement(position.game, known[report.pv[0]])
    assert [each.move for each in assessment.candidates][:1] == [report.pv[0]]
    listed = [*assessment.candidates, *assessment.others]
    assert len(assessment.candidates) == min(MAX_CANDIDATES, len(known))
    assert len(listed) == min(MAX_CANDIDATES + MAX_OTHERS, len(known))
    lines = {best.line[0]: best.line[:3] for best in report.depths} | {report.pv[0]: report.pv[:3]}
    for each in listed:
        assert read_line(each.line, position.replay(each.move), ply + 1) == list(
            lines.get(each.move, ())[1:]
        )
        assert position.format_move(position.parse_move(each.text)) == each.move
        assert each.bound == known[each.move].bound
        words = SAYS.fullmatch(each.says)
        assert words, each.says
        if known[each.move].proven:
            sign = (known[each.move].score > 0) - (known[each.move].score < 0)
            assert words["verb"] == {0: "draws", 1: "wins", -1: "loses"}[sign]
    assert [(each.depth, each.move) for each in assessment.depths] == [
        (best.depth, best.line[0]) for best in report.depths
    ]
    for led, best in zip(assessment.depths, report.depths, strict=True):
        assert position.format_move(position.parse_move(led.text)) == led.move
        assert led.chance == bounded_percent(position.game, best.score, "exact")


# --- random reports -------------------------------------------------------------------------------


@st.composite
def reports(draw: st.DrawFn, game: Game) -> tuple[Position, int, Info]:
    """Draws a position of a random match, its ply, and a report of a search there."""
    position, ply = game.start(), 0
    for choice in draw(st.lists(st.integers(0, 10**6), max_size=20)):
        after = position.play(position.moves()[choice % len(position.moves())])
        if not after.moves():
            break
        position, ply = after, ply + 1
    line, current = [], position
    for choice in draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=5)):
        if not (moves := current.moves()):
            break
        line.append(moves[choice % len(moves)])
        current = current.play(line[-1])
    pv = line_tokens(position, line)
    if draw(st.booleans()):
        return position, ply, draw(proven_reports(position, pv))
    score = draw(SCORES)
    others = [token for token in position.tokens() if token != pv[0]][:10]
    moves_known = [RootMove(pv[0], score)]
    for token in others:
        bound = draw(st.sampled_from(BOUNDS))
        moves_known.append(RootMove(token, draw(SCORES), bound))
    leaders = [pv, *[(token,) for token in others], pv[:2]]
    led = draw(st.lists(st.sampled_from(leaders), max_size=6))
    depths = tuple(DepthBest(depth, draw(SCORES), line) for depth, line in enumerate(led, 1))
    return position, ply, Info(7, score, 100, 1000, 5, pv, tuple(moves_known), depths=depths)


@st.composite
def proven_reports(draw: st.DrawFn, position: Position, pv: tuple[str, ...]) -> Info:
    """Draws what a solver proves: exact results and bounds, with leads in games that have them."""
    unit = position.game.rules.POINTS_UNIT
    moves = []
    for token in [pv[0], *[token for token in position.tokens() if token != pv[0]][:10]]:
        score = draw(st.just(0) | st.integers(1, 60).map(lambda plies: MATE - plies))
        score *= draw(st.sampled_from((1, -1)))
        bounds: dict[int, Bound] = {0: "exact", 1: "lower", -1: "upper"}
        bound = bounds[(score > 0) - (score < 0)] if draw(st.booleans()) else "exact"
        lead = draw(st.integers(1, 64)) if unit != "points" and bound == "exact" else None
        lead = 0 if lead and not score else -lead if lead and score < 0 else lead
        moves.append(RootMove(token, score, bound, proven=True, lead=lead))
    line = pv if moves[0].bound == "exact" else pv[:1]
    return Info(30, moves[0].score, 100, 1000, 5, line, tuple(moves))


@pytest.mark.parametrize("game_id", game_ids())
def test_sentences_are_read_back(game_id: str) -> None:
    """A sentence names the side, its best move, the replies with their numbers, and a judgement
    that fits the chance; each candidate is a legal move in the game's notation.
    """

    @given(reports(load_game(game_id)))
    @settings(max_examples=12, deadline=None)
    def is_read_back(drawn: tuple[Position, int, Info]) -> None:
        position, ply, report = drawn
        assessment = Wording(position, ply).assessment(report)
        assert assessment is not None
        assert_says_what_it_knows(assessment, report, position, ply)

    is_read_back()


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_counts_of_a_search_are_read_back(cuts: int, first_cuts: int, table_cuts: int) -> None:
    """The sentences have the counts, and the share of first moves in percent; none mentions 0."""
    first_cuts = min(first_cuts, cuts)
    text = work_text(Counts(cuts, first_cuts, table_cuts, table_cuts))
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", text)]
    expected = [cuts, round(100 * first_cuts / cuts)] if cuts else []
    assert numbers == expected + ([table_cuts] if table_cuts > 1 else [])
    assert ("Answered from memory once." in text) == (table_cuts == 1)
    assert ("1 branch cut off, " in text) == (cuts == 1)


@given(st.sampled_from(GAMES), SCORES, st.sampled_from(["lower", "upper"]), SCORES)
def test_a_bound_is_never_worded_as_exact(
    game_id: str, score: int, bound: str, true_score: int
) -> None:
    """A bound says worse or better than a chance, or which side wins but not when; and what it says
    holds for every score within the bound.
    """
    game = load_game(game_id)
    text = says(game, RootMove("", score, bound))  # type: ignore[arg-type]
    match = SAYS.fullmatch(text)
    assert match is not None, text
    assert match["length"] is None, "the length of a forced win is exact"
    if match["chance"] is not None:
        assert match["bound"] == {"upper": "worse", "lower": "better"}[bound]
    if (true_score > score) if bound == "upper" else (true_score < score):
        return
    exact = says(game, RootMove("", true_score))
    chance = bounded_percent(game, score, bound)  # type: ignore[arg-type]
    true_chance = bounded_percent(game, true_score, "exact")
    assert true_chance is not None
    if match["verb"] is not None:
        assert exact.startswith(match["verb"])
    elif chance is not None:
        assert true_chance <= chance if bound == "upper" else true_chance >= chance


@given(st.sampled_from(GAMES), SCORES, SCORES)
def test_chances_rise_with_the_score(game_id: str, lower: int, higher: int) -> None:
    """A higher score never has a lower chance, and only a forced end has a chance of 0 or 100."""
    game = load_game(game_id)
    lower, higher = sorted((lower, higher))
    chances = [bounded_percent(game, score, "exact") for score in (lower, higher)]
    assert chances[0] is not None
    assert chances[1] is not None
    assert chances[0] <= chances[1]
    for score, chance in zip((lower, higher), chances, strict=True):
        assert (chance in (0, 100)) == (abs(score) > MATE - 1_000)


# --- real searches --------------------------------------------------------------------------------


@pytest.mark.parametrize("game_id", ["tic-tac-toe", "connect-four", "kalah", "chess"])
def test_stored_thoughts_are_read_back(game_id: str) -> None:
    """The words for the thoughts that a match of level 2 stores say what the searches found."""
    game = load_game(game_id)
    searcher = Searcher(game, compiled=False)
    position = start = game.start()
    moves: tuple[str, ...] = ()
    while len(moves) < 7 and position.moves():
        job = Job(
            game_id, game.digest, {}, start.text(), moves, "r", level=2, seed=len(moves)
        )  # fmt: skip
        result = answer(job, searcher, lambda: Table(10), Control())
        body = msgspec.json.encode(_stored_analysis(result))
        thought = msgspec.json.decode(body, type=StoredThought)
        assessment = Wording(position, len(moves)).assessment(thought)
        assert assessment is not None
        assert_says_what_it_knows(assessment, thought, position, len(moves))
        moves = (*moves, result.move)
        position = position.replay(result.move)


def test_a_careless_move_is_named_exactly_where_the_level_slipped() -> None:
    """A note stands where the level's seed looked one move ahead and the best move that it found
    was not played. The move is called careless only if that search found it to be worse, by what
    the chances to win show.
    """
    game = load_game("chess")
    moves = (
        RootMove("e5", 90), RootMove("a6", -90), RootMove("h6", 90, "upper"), RootMove("d5", 88),
    )  # fmt: skip
    report = StoredThought(depth=1, score=90, pv=("e5",), moves=moves)

    def note(level: int | None, seed: int, move: str, report: StoredThought = report) -> str:
        return careless_note(game, level, seed, "digest", report, move)

    for level in (1, 3):
        slips = [note(level, seed, "a6") != "" for seed in range(400)]
        expected = [
            level_of(game, level).at(seed, "digest").limit.depth == 1 for seed in range(400)
        ]
        assert slips == expected
        assert 0 < sum(slips) < 200
        seed = slips.index(True)
        assert note(level, seed, "a6") == f"Level {level} was careless here on purpose."
        assert note(level, seed, "e5") == "", "it played the best move that it found"
        looked = f"Level {level} looked one move ahead here, on purpose."
        assert note(level, seed, "h6") == note(level, seed, "d6") == looked
        assert note(level, seed, "d5") == looked, "nobody sees the difference"
        for depth in (0, 5):
            assert note(level, seed, "a6", msgspec.structs.replace(report, depth=depth)) == ""
    assert note(None, 1, "a6") == "", "a persona is never careless"
    assert note(8, 1, "a6") == ""


def test_a_move_that_was_not_the_best_one_has_its_reason() -> None:
    """A level that did not play its best move was careless, or took one that is nearly as good."""
    game = load_game("chess")
    margin = level_of(game, 3).margin
    moves = (RootMove("e5", 90), RootMove("d5", 91 - margin), RootMove("a6", 90 - margin))
    report = StoredThought(depth=5, score=90, pv=("e5",), moves=moves)
    nearly = "Level 3 chose among moves that it found nearly as good."
    shallow = msgspec.structs.replace(report, depth=1)
    notes = set()
    for seed in range(100):
        assert choice_note(game, 3, seed, "digest", report, "e5") == ""
        assert choice_note(game, 3, seed, "digest", report, "d5") == nearly
        assert choice_note(game, 3, seed, "digest", report, "a6") == ""
        assert choice_note(game, None, seed, "digest", report, "d5") == "", "a persona has no level"
        notes.add(choice_note(game, 3, seed, "digest", shallow, "d5"))
    assert notes == {nearly, "Level 3 looked one move ahead here, on purpose."}
    at_random = msgspec.structs.replace(report, depth=0)
    assert choice_note(game, 1, 1, "digest", at_random, "d5") == ""


def test_a_played_move_that_is_no_candidate_is_named() -> None:
    """Whoever reads which moves the AI likes also reads which one it played."""
    report = Info(3, 25, 100, 1000, 5, ("e2e4", "e7e5"), (RootMove("e2e4", 25),))
    wording = Wording(load_game("chess").start(), 0)
    notes = {}
    for played in ("e2e4", "g1f3", None):
        assessment = wording.assessment(report, "Level 3 looked one move ahead.", played)
        assert assessment is not None
        notes[played] = assessment.note
    assert notes.pop("g1f3") == "Level 3 looked one move ahead. Nf3 was played."
    assert {*notes.values()} == {"Level 3 looked one move ahead."}


def test_a_search_with_units_of_its_own_has_no_chance() -> None:
    """The value of a strategy is told as it is, because no scale belongs to its units."""
    report = Info(3, 1, 100, 1000, 5, ("e2e4", "e7e5"), value="+3.5")
    assessment = Wording(load_game("chess").start(), 0).assessment(report)
    assert assessment is not None
    assert assessment.sentence == (
        "White likes e4: it expects 1... e5 and values the position at +3.5."
    )
    assert (assessment.chance, assessment.says) == (None, "")
    assert [(each.text, each.says, each.chance) for each in assessment.candidates] == [
        ("e4", "+3.5", None)
    ]


def test_words_without_rules_are_tokens() -> None:
    """If the rules fail, a token stands for the notation, and nothing is raised."""
    game = altered_game("chess", {"notation": failing_rule, "move_view": failing_rule})
    report = Info(3, 25, 100, 1000, 5, ("e2e4", "e7e5"), (RootMove("e2e4", 25),))
    assessment = Wording(game.start(), 0).assessment(report)
    assert assessment is not None
    assert assessment.sentence.startswith("White likes e2e4 and thinks")
    assert assessment.candidates[0].cells == ()


def test_a_mean_over_the_replies_is_no_chance() -> None:
    """The persona `average` has no percentage: its best move may only draw."""
    game = load_game("tic-tac-toe")
    position = game.start().replay("b3")
    personas = Personas(Searcher(game, compiled=False))
    job = Job(game.id, game.digest, {}, position.text(), (), "", persona="average")
    result = personas.answer(job, Control())
    assert win_chance(game, result.info.score) > 0.9, "the mean would read as a won position"
    body = msgspec.json.encode(_stored_analysis(result))
    thought = msgspec.json.decode(body, type=StoredThought)
    older = msgspec.structs.replace(thought, value="")
    for report in (result.info, thought, with_mean(older, "average")):
        words = Wording(position, 1).assessment(report)
        assert words is not None
        assert words.chance is None
        assert words.says == ""
        assert re.fullmatch(
            r"Noughts like \S+ and value the position at \+\d+ on average\.", words.sentence
        )
        assert len(words.candidates) == MAX_CANDIDATES
        for candidate in (*words.candidates, *words.others):
            assert candidate.chance is None
            assert re.fullmatch(r"[+-]?\d+ on average", candidate.says)
    assert with_mean(older, "swindler") == older
    assert with_mean(older, None) == older
