"""server/bot/coach.py: searches four times as long confirm the coach's comments."""

import re
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from engine.game import Game, Position
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.job import MATE, Info, Job, Limit, Result, RootMove
from engine.win_chance import win_chance
from server.bot.coach import COACH_NODES, CONFIRM_NODES, MISTAKE_LOSS, MoveReview

#: The games of the long test, each with the level whose moves the coach judges.
GAMES = (
    ("chess", 3), ("othello", 2), ("connect-four", 2), ("draughts", 3), ("breakthrough", 2),
    ("kalah", 2), ("nine-mens-morris", 2),
)  # fmt: skip
#: Least number of mistakes in the long test.
MISTAKES = 200
#: The share of mistakes that the longer searches must confirm.
CONFIRMED = 0.95


class Searches:
    """Searches positions of one game, each with an empty table, as asks do."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._searcher = Searcher(game)
        self._start = game.start()

    def search(self, moves: tuple[str, ...], nodes: int, lines: int = 1) -> Result:
        job = Job(
            self._game.id, self._game.digest, {}, self._start.text(), moves, "", use="ask",
            limit=Limit(nodes=nodes), lines=lines,
        )  # fmt: skip
        return answer(job, self._searcher, lambda: Table(10), Control())

    def level_move(self, moves: tuple[str, ...], level: int, seed: int) -> str:
        job = Job(
            self._game.id, self._game.digest, {}, self._start.text(), moves, "", level, seed=seed
        )  # fmt: skip
        return answer(job, self._searcher, lambda: Table(10), Control()).move

    def review(self, before: Position, moves: tuple[str, ...], move: str) -> MoveReview:
        """The coach's review of a move: the searches of `server.bot.coach.review_move`."""
        first = self.search(moves, COACH_NODES, lines=2)
        after = self.search((*moves, move), COACH_NODES)
        review = MoveReview(before, len(moves), move, first, after)
        best = first.info.pv[0]
        if review.loss() < MISTAKE_LOSS or not before.replay(best).moves():
            return review
        better = self.search((*moves, best), CONFIRM_NODES)
        return replace(review, confirmed=(better, self.search((*moves, move), CONFIRM_NODES)))

    def loss(self, before: Position, moves: tuple[str, ...], move: str) -> float:
        """The loss of a move by fresh searches four times as long."""
        first = self.search(moves, 4 * COACH_NODES)
        after = self.search((*moves, move), 4 * COACH_NODES)
        chance = win_chance(self._game, after.info.score)
        is_same_side = before.replay(move).turn == before.turn
        return win_chance(self._game, first.info.score) - (chance if is_same_side else 1 - chance)


def mistakes(game: Game, level: int, seed: int) -> Iterator[float]:
    """Yields the loss by longer searches of each move of a match that the coach calls a mistake."""
    searches = Searches(game)
    position, moves = game.start(), tuple[str, ...]()
    while position.moves() and len(moves) < 60:
        move = searches.level_move(moves, level, seed + len(moves))
        if position.replay(move).moves():
            comment = searches.review(position, moves, move).comment("")
            if comment is not None and comment.candidates:
                yield searches.loss(position, moves, move)
        moves, position = (*moves, move), position.replay(move)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_coach_names_only_real_mistakes() -> None:
    """A search four times as long finds that at least 95 % of 200 named mistakes lose MISTAKE_LOSS
    or more.
    """
    losses = list[float]()
    for seed in range(100):
        for game_id, level in GAMES:
            losses += mistakes(load_game(game_id), level, 1000 * seed)
        if len(losses) >= MISTAKES:
            break
    assert len(losses) >= MISTAKES
    confirmed = sum(loss >= MISTAKE_LOSS for loss in losses)
    assert confirmed >= CONFIRMED * len(losses)


def result(score: int, *moves: RootMove) -> Result:
    info = Info(5, score, 1, 1, 1, (moves[0].move,), moves)
    return Result(moves[0].move, info)


def review_of(second: RootMove, played: str = "e2e4") -> MoveReview:
    """A move of the first position of chess, where e2e4 is best and every other move is known."""
    position = load_game("chess").start()
    others = [token for token in position.tokens() if token not in ("e2e4", second.move)]
    known = [RootMove(token, second.score, "upper") for token in others]
    first = result(50, RootMove("e2e4", 50), second, *known)
    return MoveReview(position, 0, played, first, result(-50, RootMove("e7e5", -50)))


def test_an_only_move_is_one_that_every_other_move_is_proved_worse_than() -> None:
    """The coach praises the best move only, and only where each other one is bounded far below."""
    far = RootMove("d2d4", -300)
    assert review_of(far).is_only_move()
    assert not review_of(far, "d2d4").is_only_move(), "it is not the best move"
    assert not review_of(RootMove("d2d4", 40)).is_only_move(), "another move is as good"
    assert not review_of(replace(far, bound="lower")).is_only_move(), "it may be better"
    unknown = review_of(far)
    few = replace(unknown.first.info, moves=unknown.first.info.moves[:3])
    assert not replace(unknown, first=replace(unknown.first, info=few)).is_only_move()


def test_a_loss_is_the_lesser_of_two_estimates() -> None:
    """The longer searches can take a loss back, but never add to it."""
    case = replace(
        review_of(RootMove("d2d4", 40), "a2a3"), after=result(300, RootMove("e7e5", 300))
    )  # fmt: skip
    loss = case.loss()
    assert loss > MISTAKE_LOSS
    played = case.after
    close, far = result(-290, RootMove("e7e5", -290)), result(-500, RootMove("e7e5", -500))
    closer = replace(case, confirmed=(result(290, RootMove("e7e5", 290)), played))
    assert closer.loss() < MISTAKE_LOSS
    assert replace(case, confirmed=(far, played)).loss() == loss
    assert replace(case, confirmed=(close, close)).loss() < MISTAKE_LOSS
    assert replace(case, move="e2e4").loss() == 0.0


#: Moves of connect four, 6347: the results that a solver has proved for each of them, and what the
#: coach says of a move, "" for nothing. Column f alone wins; a, b, e and g lose.
PROVEN_COMMENTS = (
    ("f", "f was the only move that wins|Only f wins", "draws or loses"),
    ("b", r"\bb\b.*\bloses\b", "f wins in 33 moves"),
    ("c", r"\bc\b.*\bonly draws\b", "f wins in 33 moves"),
)


@pytest.mark.parametrize(("move", "said", "also"), PROVEN_COMMENTS)
def test_the_coach_says_what_is_proven(move: str, said: str, also: str) -> None:
    """Where results are proven, the coach says them, and no percentages."""
    game = load_game("connect-four")
    before = game.start()
    for token in "fcdg":
        before = before.replay(token)
    moves = [RootMove("f", MATE - 33, proven=True)]
    moves += [RootMove(token, 0, proven=True) for token in "cd"]
    moves += [RootMove(token, 38 - MATE, "upper", proven=True) for token in "abeg"]
    first = result(MATE - 33, *moves)
    for seed in map(str, range(9)):
        comment = MoveReview(before, 4, move, first, result(0, RootMove("d", 0))).comment(seed)
        assert comment is not None
        assert re.search(said, comment.text), comment.text
        assert also in comment.text
        assert "%" not in comment.text


@pytest.mark.parametrize("after", [RootMove("d", 0, proven=True), RootMove("d", 900)])
def test_a_move_that_is_not_proven_to_lose_anything_is_no_mistake(after: RootMove) -> None:
    """In a proven draw no move is a mistake that keeps it, or of which no solver knows."""
    before = load_game("connect-four").start()
    first = result(0, RootMove("d", 0, proven=True))
    assert MoveReview(before, 0, "c", first, result(after.score, after)).comment("seed") is None


def test_a_proven_loss_after_the_move_is_a_mistake() -> None:
    """The search of the position after the move proves what that of the one before left open."""
    before = load_game("connect-four").start()
    first = result(0, RootMove("d", 0, proven=True))
    won = RootMove("d", MATE - 8, proven=True)
    comment = MoveReview(before, 0, "c", first, result(won.score, won)).comment("seed")
    assert comment is not None
    assert "c" in comment.text
    assert "loses in 9 moves" in comment.text


#: Moves of games with extra turns: the moves before, the played move, the line that the search
#: expects after it, and the coach's last sentence.
FURTHER_MOVES = (
    ("kalah", (), "c1", ("f1", "e2", "f2"), "c1 goes on with 2. f1 and is answered by 3. e2 4. f2"),
    ("kalah", (), "c1", ("f1",), "c1 goes on with 2. f1"),
    ("kalah", (), "a1", ("a2", "b1"), "a1 is answered by 2. a2 3. b1"),
    ("kalah", (), "c1", (), ""),
    (
        "kalah", ("e1", "a2", "c1"), "d2", ("a2", "e2", "a2", "f2", "a2", "a1"),
        "d2 goes on with 5. a2 6. e2 7. a2 8. f2",
    ),
    (
        "dots-and-boxes", ("a1b1", "b1b2", "a2b2"), "a1a2", ("c1c2", "d1d2"),
        "a1a2 goes on with 5. c1c2 and is answered by 6. d1d2",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("game_id", "moves", "move", "line", "says"), FURTHER_MOVES)
def test_a_players_own_next_move_is_no_answer(
    game_id: str, moves: tuple[str, ...], move: str, line: tuple[str, ...], says: str
) -> None:
    """In a game with extra turns the coach tells the player's further moves from the answer."""
    game = load_game(game_id)
    before = game.start()
    for token in moves:
        before = before.replay(token)
    best = next(token for token in before.tokens() if token != move)
    first = result(400, RootMove(best, 400), RootMove(move, -400))
    is_same_side = before.replay(move).turn == before.turn
    score = -400 if is_same_side else 400
    after = Result((*line, "")[0], Info(5, score, 1, 1, 1, line))
    comment = MoveReview(before, len(moves), move, first, after).comment("seed")
    assert comment is not None
    said = re.findall(r"\S+ (?:goes on|is answered) .*(?=\.$)", comment.text)
    assert said == ([says] if says else [])
