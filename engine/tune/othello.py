"""python -m engine.tune.othello: plays matches of Othello and fits the pattern weights to them.

The general tuner varies each number of an evaluation to find its effect. Othello has a quarter of a
million numbers and exact results, so it has a tuner of its own.

A match begins with random moves, continues by a shallow search, and is solved when few cells are
empty; that score is the target of all earlier positions. From then on half of the moves are random,
and each position is solved. The command appends matches to the work file until it has the requested
number; a later run resumes it. A match depends on its number and on the file's first line, which
names the seed, the depth and the rules. The fit holds some matches out and prints its error on
them.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.command_line import between, count_or_zero
from engine.compiler import native_lanes  # noqa: F401  (registers the kernel's vector operations)
from engine.compiler.intrinsics import Memory
from engine.compiler.native import compile_game
from engine.game import State
from engine.games import othello
from engine.rules.registry import load_game
from engine.solvers import othello_kernel, othello_last
from engine.solvers.othello_tables import aligned_words, new_memory, odd_quadrants
from engine.tune import othello_template as template
from engine.tune.errors import TuneError
from engine.tune.othello_positions import FULL, Origin, PositionFile, count_matches, read_records

#: Size of the solver's table, as a power of two of entries.
TABLE_BITS = 15
#: Empty cells at which a match is solved.
SOLVED_FROM = 14
#: Empty cells at which a match ends.
MIN_EMPTY = 3
#: Random plies of an opening: at least the first number and fewer than the second.
RANDOM_PLIES = (6, 16)
#: The share of random moves between the opening and the solved end of a match, 0 to 1.
RANDOM_SHARE = 0.02
#: Learning rates of the passes, in parts of RATE_UNIT. A fit that starts from the game's weights
#: omits the first two.
RATES = (512, 410, 307, 205, 123, 61, 31, 15)
#: One match in this number is held out for validation.
HELD_OUT = 20


class Player:
    """Plays matches with the compiled search of the solver."""

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
        """The exact final lead of the side to move in discs, by the discs of both sides."""
        empty = FULL & ~(p | o)
        memories = (self._memory, self._table, self._control, self._native.data)
        return int(
            self._principal(p, o, -65, 65, empty.bit_count(), odd_quadrants(empty), *memories)
        )

    def choose_move(self, state: State, depth: int, rng: random.Random) -> int:
        """The best move by a search of that depth, a random one if it is 0, or -1 without moves."""
        buffer = [0] * othello.MAX_MOVES
        count = othello.moves(state, buffer)
        if count == 0:
            return -1
        if depth == 0 or count == 1:
            return buffer[rng.randrange(count)]
        p, o = int(state[0]), int(state[1])
        return int(self._pick(p, o, depth, rng.getrandbits(63), self._memory, self._native.data))

    def play_match(self, number: int, seed: int) -> list[tuple[int, int, int, int]]:
        """Plays one match and returns its records, whose words RECORD_WORDS describes.

        There are none if the match ends before it is solved.
        """
        rng = random.Random(f"{seed}:{number}")
        state = othello.init({})
        random_plies = rng.randrange(*RANDOM_PLIES)
        seen: list[State] = []
        while _empty(state) > SOLVED_FROM:
            depth = 0 if len(seen) < random_plies or rng.random() < RANDOM_SHARE else self.depth
            move = self.choose_move(state, depth, rng)
            if move < 0:
                return []
            if move != othello.PASS:
                seen.append(state)
            state = othello.play(state, move)
        p, o = int(state[0]), int(state[1])
        lead, side = self.solve(p, o), state[2]
        seen.append(state)
        records = [(number, int(s[0]), int(s[1]), lead if s[2] == side else -lead) for s in seen]
        return [*records, *self._end(state, number, rng)]

    def _end(
        self, state: State, number: int, rng: random.Random
    ) -> Iterator[tuple[int, int, int, int]]:
        """Continues with half of the moves random, and yields a record of each position."""
        while _empty(state) > MIN_EMPTY:
            move = self.choose_move(state, rng.randrange(2), rng)
            if move < 0:
                return
            state = othello.play(state, move)
            if move != othello.PASS:
                p, o = int(state[0]), int(state[1])
                yield number, p, o, self.solve(p, o)


def _empty(state: State) -> int:
    return 64 - (int(state[0]) | int(state[1])).bit_count()


def play_matches(path: Path, matches: int, seed: int, depth: int) -> None:
    """Appends matches to the work file until it has `matches` of them."""
    game = load_game("othello")
    if matches <= count_matches(path):
        return
    with (
        PositionFile(path, Origin(1, game.digest, seed, depth)) as file,
        np.errstate(over="ignore"),
    ):
        begun_s, first, player = time.monotonic(), file.next_match, Player(depth)
        for number in range(first, matches):
            file.add(player.play_match(number, seed))
            if number % 500 == 499:
                file.flush()
                seconds_per_match = (time.monotonic() - begun_s) / (number + 1 - first)
                left_minutes = seconds_per_match * (matches - number - 1) / 60
                print(
                    f"{number + 1:,} of {matches:,} matches, {left_minutes:.0f} minutes left",
                    file=sys.stderr,
                    flush=True,
                )


def fit(records: Any, seed: int, weights: Any, rates: Sequence[int] = RATES) -> Any:
    """Fits the weights of all phases, in parts of a disc, starting from `weights`.

    It prints after each pass the root mean squared error by phase, in discs, for the learning and
    the held-out positions.
    """
    native = compile_game(load_game("othello"), template)
    is_held_out = records[:, 0] % np.uint64(HELD_OUT) == 0
    learning = np.ascontiguousarray(
        np.random.Generator(np.random.PCG64(seed)).permutation(records[~is_held_out])
    )
    held_out = np.ascontiguousarray(records[is_held_out])
    weights = weights.copy()
    memories = (
        Memory(weights),
        Memory(shared_weights()),
        Memory(np.zeros(template.SCRATCH_WORDS, np.int64)),
    )
    for rate in rates:
        errors = []
        for rows, step in ((learning, rate), (held_out, 0)):
            sums = np.zeros((othello.PHASES, 2), np.int64)
            native.function("learn")(
                Memory(rows), len(rows), step, *memories, Memory(sums.reshape(-1))
            )
            errors.append(np.sqrt(sums[:, 0] / 64 / np.maximum(sums[:, 1], 1)).round(2))
        line = f"rate {rate / template.RATE_UNIT:.2f}: error {errors[0]}, held out {errors[1]}"
        print(line, file=sys.stderr, flush=True)
    return weights


def _mirrored(kind: int) -> list[int]:
    """The places of a pattern's cells after the board is mirrored."""
    cells = othello.PATTERN_CELLS[kind]
    if kind == 0:
        return [7, 6, 5, 4, 3, 2, 1, 0, 9, 8]
    if kind == 1:
        return [0, 3, 6, 1, 4, 7, 2, 5, 8]
    return list(range(cells))[::-1]


def shared_weights() -> Any:
    """The index of the weight that stores each weight, in the encoding of `template.learn`.

    A pattern and its mirror image share one stored weight. If the mirror image is the pattern with
    the colours exchanged, the weight is 0.
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
    """The content of the game's DATA file.

    The pattern weights are bytes in eighths of a disc, with each phase padded to whole words. The
    extras follow, in 64ths of a disc.
    """
    shared = shared_weights()
    by_phase = weights.reshape(othello.PHASES, template.PHASE_WORDS)
    values = by_phase[:, shared >> 2] * ((shared & 3) - 1)
    rounded = np.clip(np.rint(values / (template.UNIT / 8)), -127, 127).astype(np.int8)
    patterns = np.zeros((othello.PHASES, othello.PHASE_BYTES), np.int8)
    patterns[:, : template.WEIGHTS] = rounded
    extras = np.rint(by_phase[:, template.WEIGHTS :] / (template.UNIT / 64)).astype("<i8")
    return bytes(patterns.tobytes() + extras.tobytes())


def unpacked(content: bytes) -> Any:
    """The weights of a DATA file; the inverse of `packed` except for rounding."""
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
        "--work",
        type=Path,
        required=True,
        help="the file of positions; created if it does not exist",
    )
    parser.add_argument(
        "--matches",
        type=count_or_zero,
        default=0,
        help="play until the file has this number of matches (0: none)",
    )
    parser.add_argument(
        "--depth", type=between(1, 60), default=4, help="depth of the search that plays (4)"
    )
    parser.add_argument(
        "--seed",
        type=count_or_zero,
        default=1,
        help="seed of the matches and of the order in which they are learnt (1)",
    )
    parser.add_argument(
        "--out", type=Path, help="fit the weights and write them here (default: do not fit)"
    )
    parser.add_argument(
        "--on",
        action="store_true",
        help="start from the game's present weights, not from zeros",
    )
    args = parser.parse_args(arguments)
    if not args.matches and args.out is None:
        parser.error("there is nothing to do: give --matches or --out")
    try:
        if (
            args.out is not None
            and args.out.exists()
            and args.work.exists()
            and args.out.samefile(args.work)
        ):
            raise TuneError("--out would write over the work file")
        play_matches(args.work, args.matches, args.seed, args.depth)
        if args.out is None:
            return 0
        records = read_records(args.work)
        if not len(records):
            raise TuneError(f"{args.work} has no positions: give --matches")
        start = np.zeros(othello.PHASES * template.PHASE_WORDS, np.int64)
        rates: Sequence[int] = RATES
        if args.on:
            start = unpacked(Path(othello.__file__).with_name(othello.DATA[0]).read_bytes())
            rates = RATES[2:]
        args.out.write_bytes(packed(fit(records, args.seed, start, rates)))
    except (TuneError, OSError) as error:
        print(f"tune: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
