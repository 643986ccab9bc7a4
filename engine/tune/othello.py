"""python -m engine.tune.othello: plays matches of Othello against itself and fits the pattern
weights to their ends.

The general tuner tries what each number adds to an evaluation; here there are a quarter of a
million of them, and the ends are exact. A match begins with random moves, goes on by a shallow
search, and is solved when few cells are empty: the score is what all its positions before lead to.
From there on moves are half at random, and each position is solved. The work file grows until it
has all matches, whenever the command is run; a match depends on its number and on what the file's
first line says: the seed, the depth and the rules. The fit keeps some matches aside and prints how
far it is off there.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.command_line import between, count_or_none
from engine.compiler import native_lanes  # noqa: F401
from engine.compiler.native import Memory, compile_game
from engine.game import State
from engine.games import othello
from engine.rules.registry import load_game
from engine.solvers import othello_kernel, othello_last
from engine.solvers.othello_tables import aligned_words, new_memory, odd_quadrants
from engine.tune import othello_template as template
from engine.tune.errors import TuneError
from engine.tune.othello_positions import FULL, Making, PositionFile, count_matches, read_records

TABLE_BITS = 15
#: Empty cells.
SOLVED_FROM = 14
FEWEST_EMPTY = 3
RANDOM_PLIES = (6, 16)
RANDOM_SHARE = 0.02
#: Of RATE_UNIT, one pass each; from weights that are there already, without the first two.
RATES = (512, 410, 307, 205, 123, 61, 31, 15)
#: Every so many'th match is not learnt from.
HELD_OUT = 20


class Player:
    """Plays matches, with the compiled search of the solver."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._native = compile_game(load_game("othello"), othello_kernel)
        self._words = new_memory()
        self._words[othello_last.NODE_LIMIT] = 1 << 62
        self._words[othello_last.TABLE_SHIFT] = 64 - TABLE_BITS
        self._memory = Memory(self._words)
        self._table = Memory(aligned_words(8 << TABLE_BITS))
        self._control = Memory(np.zeros(1024, np.int64))
        self._principal, self._pick = (
            self._native.function("principal"),
            self._native.function("pick"),
        )
        self._native.function("edge_tables")(self._memory)

    def solve(self, p: int, o: int) -> int:
        empty = FULL & ~(p | o)
        memories = (self._memory, self._table, self._control, self._native.data)
        return int(
            self._principal(p, o, -65, 65, empty.bit_count(), odd_quadrants(empty), *memories)
        )

    def move(self, state: State, depth: int, chance: random.Random) -> int:
        """The best move by a search of that depth, or a random one when the depth is 0."""
        buffer = [0] * othello.MAX_MOVES
        count = othello.moves(state, buffer)
        if count == 0:
            return -1
        if depth == 0 or count == 1:
            return buffer[chance.randrange(count)]
        p, o = int(state[0]), int(state[1])
        return int(self._pick(p, o, depth, chance.getrandbits(63), self._memory, self._native.data))

    def match(self, number: int, seed: int) -> list[tuple[int, int, int, int]]:
        """The records of one match, see engine.tune.othello_template."""
        chance = random.Random(f"{seed}:{number}")
        state = othello.init({})
        random_plies = chance.randrange(*RANDOM_PLIES)
        seen: list[State] = []
        while _empty(state) > SOLVED_FROM:
            depth = 0 if len(seen) < random_plies or chance.random() < RANDOM_SHARE else self.depth
            move = self.move(state, depth, chance)
            if move < 0:
                return []
            if move != othello.PASS:
                seen.append(state)
            state = othello.play(state, move)
        p, o = int(state[0]), int(state[1])
        lead, side = self.solve(p, o), state[2]
        seen.append(state)
        records = [(number, int(s[0]), int(s[1]), lead if s[2] == side else -lead) for s in seen]
        return [*records, *self._end(state, number, chance)]

    def _end(
        self, state: State, number: int, chance: random.Random
    ) -> Iterator[tuple[int, int, int, int]]:
        while _empty(state) > FEWEST_EMPTY:
            move = self.move(state, chance.randrange(2), chance)
            if move < 0:
                return
            state = othello.play(state, move)
            if move != othello.PASS:
                p, o = int(state[0]), int(state[1])
                yield number, p, o, self.solve(p, o)


def _empty(state: State) -> int:
    return 64 - (int(state[0]) | int(state[1])).bit_count()


def play_matches(path: Path, matches: int, seed: int, depth: int) -> None:
    """Goes on with the work file until it has so many matches; one that has more is only read."""
    game = load_game("othello")
    if matches <= count_matches(path):
        return
    with (
        PositionFile(path, Making(1, game.digest, seed, depth)) as file,
        np.errstate(over="ignore"),
    ):
        begun, first, player = time.monotonic(), file.next_match, Player(depth)
        for number in range(first, matches):
            file.add(player.match(number, seed))
            if number % 500 == 499:
                file.flush()
                left = (
                    (time.monotonic() - begun) / (number + 1 - first) * (matches - number - 1) / 60
                )
                print(
                    f"{number + 1:,} of {matches:,} matches, {left:.0f} minutes left",
                    file=sys.stderr,
                    flush=True,
                )


def fit(records: Any, seed: int, weights: Any, rates: Sequence[int] = RATES) -> Any:
    """The weights of all phases, in parts of a disc, from those to begin with; tells how far they
    are off by phase (the root of the mean squared error in discs), for what was learnt from and for
    what was held out.
    """
    native = compile_game(load_game("othello"), template)
    held = records[:, 0] % np.uint64(HELD_OUT) == 0
    learnt = np.ascontiguousarray(
        np.random.Generator(np.random.PCG64(seed)).permutation(records[~held])
    )
    others = np.ascontiguousarray(records[held])
    weights = weights.copy()
    memories = (
        Memory(weights),
        Memory(twin_weights()),
        Memory(np.zeros(template.SCRATCH_WORDS, np.int64)),
    )
    for rate in rates:
        off = []
        for rows, step in ((learnt, rate), (others, 0)):
            sums = np.zeros((othello.PHASES, 2), np.int64)
            native.function("learn")(
                Memory(rows), len(rows), step, *memories, Memory(sums.reshape(-1))
            )
            off.append(np.sqrt(sums[:, 0] / 64 / np.maximum(sums[:, 1], 1)).round(2))
        told = f"rate {rate / template.RATE_UNIT:.2f}: off by {off[0]}, held out {off[1]}"
        print(told, file=sys.stderr, flush=True)
    return weights


def _mirrored(kind: int) -> list[int]:
    """The cells of a pattern in the order that a mirror of the board gives them."""
    cells = othello.PATTERN_CELLS[kind]
    if kind == 0:
        return [7, 6, 5, 4, 3, 2, 1, 0, 9, 8]
    if kind == 1:
        return [0, 3, 6, 1, 4, 7, 2, 5, 8]
    return list(range(cells))[::-1]


def twin_weights() -> Any:
    """For each weight the one it shares its value with, see engine.tune.othello_template.learn:
    where a mirror changes the pattern into that with the colours exchanged, the value is 0.
    """
    parts, first = [], 0
    for kind, cells in enumerate(othello.PATTERN_CELLS):
        index = np.arange(othello.PATTERN_WEIGHTS[kind])
        digits, rest = [], index
        for _ in range(cells):
            digit = (rest + 1) % 3 - 1
            digits.append(digit)
            rest = (rest - digit) // 3
        image: Any = sum(digits[place] * 3**i for i, place in enumerate(_mirrored(kind)))
        sign = np.where(image == -index, 0, np.where((np.abs(image) < index) & (image < 0), -1, 1))
        parts.append((first + np.minimum(index, np.abs(image))) * 4 + sign + 1)
        first += othello.PATTERN_WEIGHTS[kind]
    return np.concatenate(parts).astype(np.int64)


def packed(weights: Any) -> bytes:
    """The game's DATA file: bytes in eighths of a disc, each phase padded to whole words, then the
    extras in 64ths.
    """
    twins = twin_weights()
    by_phase = weights.reshape(othello.PHASES, template.PHASE_WORDS)
    values = by_phase[:, twins >> 2] * ((twins & 3) - 1)
    rounded = np.clip(np.rint(values / (template.UNIT / 8)), -127, 127).astype(np.int8)
    patterns = np.zeros((othello.PHASES, othello.PHASE_BYTES), np.int8)
    patterns[:, : template.WEIGHTS] = rounded
    extras = np.rint(by_phase[:, template.WEIGHTS :] / (template.UNIT / 64)).astype("<i8")
    return bytes(patterns.tobytes() + extras.tobytes())


def unpacked(content: bytes) -> Any:
    """The weights of a DATA file, the reverse of `packed` up to rounding."""
    patterns = np.frombuffer(content, np.int8, othello.PHASES * othello.PHASE_BYTES).reshape(
        othello.PHASES, -1
    )
    weights = np.zeros((othello.PHASES, template.PHASE_WORDS), np.int64)
    weights[:, : template.WEIGHTS] = patterns[:, : template.WEIGHTS].astype(np.int64) * (
        template.UNIT // 8
    )
    extras = np.frombuffer(content, "<i8", offset=patterns.size).reshape(othello.PHASES, -1)
    weights[:, template.WEIGHTS :] = extras * (template.UNIT // 64)
    return weights.reshape(-1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.tune.othello", description=__doc__)
    parser.add_argument(
        "--work", type=Path, required=True, help="the file of positions, made when it is not there"
    )
    parser.add_argument(
        "--matches", type=count_or_none, default=0, help="play until there are so many"
    )
    parser.add_argument(
        "--depth", type=between(1, 60), default=4, help="of the search that plays (4)"
    )
    parser.add_argument(
        "--seed",
        type=count_or_none,
        default=1,
        help="of the matches, and of the order in which they are learnt (1)",
    )
    parser.add_argument(
        "--out", type=Path, help="write the weights here; without it they are not fitted"
    )
    parser.add_argument(
        "--on",
        action="store_true",
        help="begin with the game's weights as they are, not with zeros",
    )
    asked = parser.parse_args(arguments)
    if not asked.matches and asked.out is None:
        parser.error("there is nothing to do: give --matches or --out")
    try:
        if (
            asked.out is not None
            and asked.out.exists()
            and asked.work.exists()
            and asked.out.samefile(asked.work)
        ):
            raise TuneError("--out would write over the work file")
        play_matches(asked.work, asked.matches, asked.seed, asked.depth)
        if asked.out is None:
            return 0
        records = read_records(asked.work)
        if not len(records):
            raise TuneError(f"{asked.work} has no positions: give --matches")
        start = np.zeros(othello.PHASES * template.PHASE_WORDS, np.int64)
        rates: Sequence[int] = RATES
        if asked.on:
            start = unpacked(Path(othello.__file__).with_name(othello.DATA[0]).read_bytes())
            rates = RATES[2:]
        asked.out.write_bytes(packed(fit(records, asked.seed, start, rates)))
    except (TuneError, OSError) as error:
        print(f"tune: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
