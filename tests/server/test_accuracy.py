"""The pure part of server/analysis: losses, marks, summaries, and their words."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.game import Position
from engine.rules.registry import load_game
from engine.search.job import MATE, RootMove
from engine.win_chance import win_chance
from server.analysis.accuracy import (
    PlayedMove,
    PositionJudgement,
    judge_move,
    judge_position,
    summarise,
)
from server.analysis.positions import PlyResult, decode_result, encode_result
from server.analysis.words import (
    Analysed,
    effect_of,
    make_entry,
    make_summary,
    numbered_line,
)

GAMES = ("tic-tac-toe", "chess", "kalah", "connect-four", "othello")
CHANCES = st.floats(0, 1)
SCORES = st.one_of(
    st.integers(-1500, 1500), st.integers(MATE - 9, MATE - 1), st.integers(1 - MATE, 9 - MATE)
)


def played(seat: int, best: float, chance: float) -> PlayedMove:
    return PlayedMove(seat, best, chance)


@given(st.lists(CHANCES, min_size=1, max_size=3), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_a_proven_result_after_the_move_decides(
    chances: list[float], result: float, is_partial: bool
) -> None:
    """A move has the result that is proven after it, whatever the search before it said of it; so
    it loses nothing in a position with the same proven result.
    """
    ranked = sorted(chances, reverse=True)
    scored = tuple((f"m{i}", chance) for i, chance in enumerate(ranked))
    before = PositionJudgement(0, ranked[0], scored, is_partial=is_partial)
    after = PositionJudgement(1, 1.0 - result, is_proven=True)
    assert judge_move(before, "m0", after).played == result
    proven = PositionJudgement(0, result, is_proven=True, is_partial=is_partial)
    assert judge_move(proven, "m9", after).loss == 0.0


def test_what_no_solver_knows_is_not_bounded_by_what_it_knows() -> None:
    """Where only some moves are proven, another move has the chance of the position after it."""
    before = PositionJudgement(0, 0.5, (("a", 0.5), ("b", 0.0)), is_proven=True, is_partial=True)
    after = PositionJudgement(1, 0.6)
    assert judge_move(before, "c", after).played == pytest.approx(0.4)
    assert not before.has_only_move


@pytest.mark.parametrize(
    ("loss", "mark"),
    [(0.0, None), (0.0499, None), (0.05, "inaccuracy"), (0.0999, "inaccuracy"),
     (0.10, "mistake"), (0.1999, "mistake"), (0.20, "blunder"), (1.0, "blunder")],
)  # fmt: skip
def test_marks(loss: float, mark: str | None) -> None:
    """A loss from 0.05 on is an inaccuracy, from 0.10 on a mistake, from 0.20 on a blunder."""
    assert played(0, 1.0, 1.0 - loss).mark == mark


@given(st.lists(st.tuples(st.integers(0, 1), CHANCES, CHANCES), max_size=40))
def test_the_accuracy_follows_the_published_formula(rows: list[tuple[int, float, float]]) -> None:
    """The accuracy of a side is 100 x (1 - mean loss of its moves), and its marks add up."""
    moves = [played(seat, max(pair), min(pair)) for seat, *pair in rows]
    for seat in (0, 1):
        own = [move.loss for move in moves if move.seat == seat]
        summary = summarise(moves, seat)
        if not own:
            assert summary.accuracy is None
            continue
        assert summary.accuracy == pytest.approx(100 * (1 - sum(own) / len(own)), abs=0.051)
        assert summary.inaccuracy + summary.mistake + summary.blunder == sum(
            round(loss, 9) >= 0.05 for loss in own
        )


@given(
    st.lists(CHANCES, min_size=1, max_size=3), CHANCES, st.integers(0, 1), st.integers(0, 1),
    st.integers(0, 3),
)  # fmt: skip
def test_a_loss_is_judged_by_the_same_search_where_possible(
    chances: list[float], after: float, seat: int, next_seat: int, index: int
) -> None:
    """A move that the search scored loses the difference to the best one. Any other move has the
    chance of the position after it, but at most that of the worst scored move. Beside a forced win
    the position after it decides. No loss is negative, and the best move loses nothing.
    """
    ranked = sorted(chances, reverse=True)
    before = PositionJudgement(seat, ranked[0], tuple((f"m{i}", c) for i, c in enumerate(ranked)))
    following = PositionJudgement(next_seat, after)
    move = judge_move(before, f"m{index}", following)
    own = after if next_seat == seat else 1 - after
    scored = ranked[index] if index < len(ranked) else None
    if ranked[0] == 1.0 and scored != 1.0:
        assert move.played == own
    elif scored is not None:
        assert move.played == scored
    else:
        assert move.played == min(own, ranked[-1])
    assert 0 <= move.loss <= 1
    assert judge_move(before, "m0", following).loss == 0
    assert move.seat == seat


@given(CHANCES, CHANCES, st.booleans())
def test_only_moves(best: float, second: float, is_forced: bool) -> None:
    """A move is the only one if every other is a mistake; a forced move never is."""
    best, second = max(best, second), min(best, second)
    judgement = PositionJudgement(0, best, (("a", best), ("b", second)), is_forced)
    assert judgement.has_only_move == (not is_forced and best - second >= 0.10)
    assert not PositionJudgement(0, best, (("a", best),)).has_only_move


@st.composite
def analysed_matches(draw: st.DrawFn) -> tuple[list[Analysed], list[str]]:
    """A random match of a game, whose positions have random results."""
    position = load_game(draw(st.sampled_from(GAMES))).start()
    positions, moves = [position], []
    for _ in range(draw(st.integers(1, 12))):
        if position.outcome() is not None:
            break
        moves.append(draw(st.sampled_from(position.tokens())))
        position = position.replay(moves[-1])
        positions.append(position)
    return [
        Analysed.of(ply, each, draw(results_of(each))) for ply, each in enumerate(positions)
    ], moves


def results_of(position: Position) -> st.SearchStrategy[PlyResult]:
    """Results of a position, with one to three moves."""
    if position.outcome() is not None:
        return st.just(PlyResult())
    tokens = position.tokens()

    @st.composite
    def results(draw: st.DrawFn) -> PlyResult:
        chosen = draw(st.lists(st.sampled_from(tokens), min_size=1, max_size=3, unique=True))
        scores = sorted((draw(SCORES) for _ in chosen), reverse=True)
        moves = tuple(
            RootMove(token, score, line=(token,))
            for token, score in zip(chosen, scores, strict=True)
        )
        return PlyResult(draw(st.integers(1, 20)), scores[0], (chosen[0],), moves)

    return results()


@settings(max_examples=40)
@given(analysed_matches())
def test_an_analysed_match(match: tuple[list[Analysed], list[str]]) -> None:
    """The entries, the sentences and the end of a random match state its judgements."""
    analysed, moves = match
    check_entries(analysed, moves)
    check_sentences(analysed, moves)
    check_end(analysed[-1].position)


def check_entries(analysed: list[Analysed], moves: list[str]) -> None:
    """Each entry has the chance of the first seat; its loss, mark and sentence agree; and the
    summary counts the marks of the entries. Stored results are read back unchanged.
    """
    entries = [
        make_entry(before, token, after)
        for before, token, after in zip(
            analysed, [*moves, None], [*analysed[1:], None], strict=True
        )
    ]
    for each, entry in zip(analysed, entries, strict=True):
        assert decode_result(encode_result(each.result)) == each.result
        chance = each.judgement.chance_of(0)
        assert abs(entry.chance - 100 * chance) <= 1
        assert entry.best == (each.result.pv[0] if each.result.pv else None)
        assert (entry.mark is None) == (entry.says_mark == "")
        if each.result.pv:
            score = each.result.score
            own = win_chance(each.position.game, score)
            assert each.judgement.chance_of(each.position.turn) == own
            assert entry.line.split(" ", 1)[1].startswith(entry.text)
    assert entries[-1].loss is None
    summary = make_summary(analysed, moves)
    for seat in (0, 1):
        marks = [entry.mark for entry in entries if entry.seat == seat]
        counts = summary.counts[seat]
        assert counts.blunder == marks.count("blunder")
        assert counts.mistake == marks.count("mistake")
        assert counts.inaccuracy == marks.count("inaccuracy")
    plies = [point.ply for point in summary.turning_points]
    assert plies == sorted(plies)
    assert all(entries[ply].mark in ("mistake", "blunder") for ply in plies)


@pytest.mark.parametrize(
    ("best", "chance", "effect"),
    [
        (0.80, 0.60, "let the win slip"),
        (0.80, 0.40, "gave the lead away"),
        (0.80, 0.10, "turned the match"),
        (0.60, 0.45, "lost the advantage"),
        (0.53, 0.41, "made it worse for White"),
        (0.53, 0.10, "was the losing move"),
        (0.45, 0.30, "was a mistake"),
        (0.20, 0.05, "made it worse for White"),
    ],
)
def test_only_a_side_that_was_clearly_better_gives_the_lead_away(
    best: float, chance: float, effect: str
) -> None:
    """What a mistake did follows from what the mover had before it."""
    assert effect_of(played(0, best, chance), "White") == effect


def check_sentences(analysed: list[Analysed], moves: list[str]) -> None:
    """The chances, the names of the sides and the better move in a sentence are those of the
    judgement.
    """
    for (before, after), token in zip(pairwise(analysed), moves, strict=True):
        entry = make_entry(before, token, after)
        if not entry.says_mark:
            continue
        names = [seat.name for seat in before.position.game.board({}).seats]
        move = judge_move(before.judgement, token, after.judgement)
        best = numbered_line(before.position, before.ply, before.result.pv[:1])
        assert entry.says_mark.endswith(f"{best} was better.")
        assert entry.says_mark.startswith(f"{str(entry.mark).capitalize()}: ")
        fall = re.search(r": (.+?)'s? chance to win falls from (\d+) % to (\d+) %", entry.says_mark)
        if fall is not None:
            assert fall[1] == names[entry.seat]
            assert abs(int(fall[2]) - 100 * move.best) <= 1
            assert abs(int(fall[3]) - 100 * move.played) <= 1
        elif "could have won" in entry.says_mark:
            assert (move.best, names[entry.seat] in entry.says_mark) == (1.0, True)
        else:
            assert move.played == 0.0
            assert "loses at once" in entry.says_mark or names[1 - entry.seat] in entry.says_mark


def check_end(position: Position) -> None:
    """Where the match is over on the board, the chance is 1 for a win, 0.5 for a draw."""
    outcome = position.outcome()
    judgement = judge_position(position, PlyResult())
    if outcome is not None:
        expected = 0.5 if outcome.winner is None else float(outcome.winner == 0)
        assert judgement.chance_of(0) == expected
        assert judgement.moves == ()
