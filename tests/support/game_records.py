"""Random games as records: legal moves, every ending, set-up starts, names that break formats."""

import random

from engine.formats.record import GameRecord, Move, Over, Seat
from engine.game import Position
from engine.rules.registry import load_game

#: Names that a careless writer would not survive.
NAMES = (
    "Ada", 'Ben "the rook" O\\Neill', "Zoë ]}{;[%eval 9]", "Łukasz  % Ünal\u00a0", "棋士", "-- *",
)  # fmt: skip
#: Words of comments that mean something in some format.
COMMENTS = (
    "", "", "", "a {nested} remark", "50% of [%clk 1:00:00] ; it", "1-0 ] \\ [x]", "%" * 3,
    "long " * 40,
)  # fmt: skip
#: Time controls: those that SGF and GGF have forms for, and others.
CONTROLS = (
    "300",
    "300+3",
    "0+12",
    "600+5x30",
    "600+25/300",
    "300d5",
    "40/7200+30:3600",
    "60+2+3x30",
)
#: How a game ends early, and whether somebody wins.
EARLY = (
    ("resign", True), ("gone", True), ("agreement", False), ("claim", False), ("abort", False),
    ("failure", False), (None, False), ("flag", True), ("flag", False), ("noshow", False),
)  # fmt: skip


def random_record(
    game_id: str, seed: int, plies: int = 60, is_plain: bool = False, is_set_up: bool = False
) -> GameRecord:
    """A game of random moves, up to its end or to `plies`.

    A plain one has no comments, annotations or strange names; a set-up one starts at a position of
    another game.
    """
    rng = random.Random(seed)
    game = load_game(game_id)
    options = {name: rng.choice(option.offered) for name, option in game.options.items()}
    position = game.start({} if is_plain else options)
    if is_set_up:
        for _ in range(rng.randrange(30)):
            if position.outcome() is None:
                position = _random_move(position, rng)[1]
        position = game.position(position.text(), position.options)
    start, moves = position, list[Move]()
    clock_ms = 600_000
    while position.outcome() is None and len(moves) < plies:
        token, position = _random_move(position, rng)
        spent_ms = rng.choice((0, 7, 1234, 61_000, 3_723_004))
        clock_ms = max(0, clock_ms - spent_ms)
        written = Move(token, position.played() or None, spent_ms)
        moves.append(
            written if is_plain else Move(
                token, position.played() or None, spent_ms, rng.choice((None, clock_ms)),
                rng.choice((None, "0.25", "#-3", "-1.5,18")), rng.choice(COMMENTS),
                rng.choice(((), (), (1,), (4, 18))),
            )
        )  # fmt: skip
    names = rng.sample(NAMES[:2] if is_plain else NAMES, 2)
    seats = (Seat(names[0], "guest"), Seat(names[1], "ai", level=rng.randint(1, 8)))
    return GameRecord(
        f"match{seed}", game_id, dict(start.options), game.digest, start.text(), seats,
        tuple(moves), _over(position, rng), 1_700_000_000_000 + seed, 1_700_000_900_000 + seed,
        {} if is_plain else {
            "Event": "A \"friendly\" game", "Opening": "French\nDefence",
            "TimeControl": rng.choice(CONTROLS),
        },
        "" if is_plain else rng.choice(COMMENTS),
    )  # fmt: skip


def _random_move(position: Position, rng: random.Random) -> tuple[str, Position]:
    move = rng.choice(position.moves())
    return position.format_move(move), position.play(move)


def _over(position: Position, rng: random.Random) -> Over | None:
    outcome = position.outcome()
    if outcome is not None:
        return Over(outcome.winner, "board", outcome.reason, outcome.points)
    how, has_winner = rng.choice(EARLY)
    winner = rng.randrange(2) if has_winner else None
    return None if how is None else Over(winner, how, f"that was a {how}")
