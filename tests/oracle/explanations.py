"""Parses the bot's sentences about a move, and compares every fact with the stored thought.

The parser knows the phrases but shares no code with the templates. It derives chances, bounds,
distances, roles and lines from the thought and the rules.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.game import GameError, Position
from engine.search.job import MATE, RootMove
from engine.win_chance import win_chance
from server.protocol.wording import StoredThought

#: Scores beyond this are forced ends.
FORCED = MATE - 1_000
#: The judgements from the best to the worst, with the least chance in percent of each.
LADDER = (
    (90, "winning"), (75, "clearly better"), (55, "a little better"), (46, "even"),
    (26, "a little worse"), (11, "clearly worse"), (0, "losing"),
)  # fmt: skip
VERDICT = (
    r"(?:(?P<bound>at most|at least) )?(?P<chance>\d+) % to win(?: \((?P<judged>[\w ]+)\))?"
    r"|a forced (?P<end>win|loss)(?: (?P<length>at once|within \d+ moves?))?"
    r"|(?P<mean>[+-]?\d+ on average)"
    r"|a (?P<result>win|loss|draw)(?: (?P<how>at once|in \d+ moves?|by \d+ \w+))?"
)
#: Moves with their numbers: "4... Nf6 5. Bf4".
LINE = r"\d+\.(?:\.\.)? \S+?(?: (?:\d+\.(?:\.\.)? )?\S+?)*"


@dataclass
class Claims:
    """What a text claims: verdicts by move, the roles of moves, lines after moves, and numbers."""

    verdicts: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)
    losing: str = ""
    depth: int | None = None
    value: str = ""
    side: set[str] = field(default_factory=set)
    players: set[str] = field(default_factory=set)
    is_shortened: bool = False
    is_careless: bool = False


class Unreadable(AssertionError):
    """The parser does not know a sentence."""


#: The known sentences: the pattern of each, and the role of its move or number.
_PATTERNS: list[tuple[re.Pattern[str], str]] = []


def _sentence(text: str, roles: str = "") -> None:
    """Adds a sentence. In its text {m} is a move, {v} the verdict on it, {b} and {w} those of the
    best one, {p} the player, {s} the side, and {l} a line after the move.
    """
    verdict = re.sub(r"\?P<\w+>", "?:", VERDICT)
    parts = {
        "m": r"(?P<m>\S+)", "b": r"(?P<b>\S+)", "v": f"(?P<v>{verdict})", "w": f"(?P<w>{verdict})",
        "p": r"(?P<p>Level \d|The \w+)", "s": r"(?P<s>[A-Z]\w+)", "l": f"(?P<l>{LINE})",
        "n": r"(?P<n>Level \d (?:was careless here on|looked one move ahead here, on) purpose\.)",
        "d": r"(?P<d>\d+)",
        "x": r"(?P<x>\S+)",
    }  # fmt: skip
    pattern = re.sub(r"\\\{(\w)\\\}", lambda match: parts[match[1]], re.escape(text))
    _PATTERNS.append((re.compile(pattern + r"(?: |$)"), roles))


for _text in (
    "{s} chose {m}: {v}.", "The best move that {s} found was {m}, with {v}.",
    "{m} looked best to {s}: {v}.", "{s} compared the moves and liked {m} most, with {v}.",
    "{m} came out on top of the search by {s}: {v}.",
):  # fmt: skip
    _sentence(_text, "played=best")
for _text in (
    "{m} was the only legal move: {v}.",
    "{s} had no choice, {m} was the only legal move: {v}.",
):
    _sentence(_text, "played=only")
for _text in (
    "{p} expects the opponent to err; {m} gave {s} {v}.",
    "{s} chose {m} against an opponent who errs, with {v}.",
):
    _sentence(_text, "played")
for _text in (
    "{p} picks among moves that look nearly equal: {s} took {m}, with {v}, though the search"
    " preferred {b}, with {w}.",
    "{s} played {m}, with {v}. The search preferred {b}, with {w}, but {p} does not always choose"
    " the best move.",
    "{s} set a trap with {m}: {v}, but an error costs most there. The search preferred {b}, with"
    " {w}.",
    "{s} played {m}, with {v}, because an error costs most after it. The search preferred {b}, with"
    " {w}.",
    "{s} played {m}, with {v}. The search preferred {b}, with {w}.",
):
    _sentence(_text, "played")
for _text in ("{s} played {m} at random.", "{m} was a random choice of {s}."):
    _sentence(_text, "played=random")
for _text in (
    "{s} chose {m} and valued the position at {x}.",
    "{p} likes {m} here and values the position of {s} at {x}.",
):
    _sentence(_text, "played=value")
for _text in (
    "{s} played {m} after a glance. {n}", "{n} {s} just played {m}.",
    "Do not look for a deep idea in {m}. {n}", "{m} was played without thinking it over. {n}",
):  # fmt: skip
    _sentence(_text, "played")
_sentence("Even that glance preferred {b}, with {w}.")
for _text in (
    "Expected next: {l}.", "{s} expects {l} now.", "The likely continuation is {l}.",
    "As {s} sees it, {l} should follow.",
):  # fmt: skip
    _sentence(_text, "line of played")
for _text in (
    "Second best was {m}, with {v}.", "The runner-up was {m}: {v}.", "{m} came second, with {v}.",
):  # fmt: skip
    _sentence(_text, "second")
for _text in (
    "{m} was weighed as well: {v}.", "Among the other moves, {m} had {v}.",
    "For comparison, {m} had {v}.",
):  # fmt: skip
    _sentence(_text, "another")
for _text in (
    "{m} was weighed as well and proved no better.", "The search showed that {m} is no better.",
):  # fmt: skip
    _sentence(_text, "no better")
_sentence("After it the search expected {l}.", "line of last")
for _text in ("Every other move loses by force.", "All other moves lose by force."):
    _sentence(_text, "lose=all")
_sentence("One other move loses by force.", "lose=1")
for _text in ("{d} other moves lose by force.", "{d} of the other moves lose by force."):
    _sentence(_text, "lose=d")
for _text in ("{m}, for example, is {v}.", "One of them is {m}: {v}.", "It is {m}: {v}."):
    _sentence(_text, "loser")
for _text in ("The search went {d} plies deep.", "{s} looked {d} plies ahead."):
    _sentence(_text, "depth")
_sentence("The search was cut short because the game is still being compiled.", "shortened")
_sentence("{s} played {m}. The search preferred {b}, with {w}.", "played")
_sentence("{s} played {m}.", "played")


def read_claims(text: str) -> Claims:
    """Reads a whole text. Raises Unreadable at a sentence that it does not know."""
    claims = Claims()
    rest, last = text, ""
    while rest:
        match, role = _first_sentence(rest)
        last = _note(claims, match.groupdict(), role, last)
        rest = rest[match.end() :]
    return claims


def _first_sentence(text: str) -> tuple[re.Match[str], str]:
    for pattern, role in _PATTERNS:
        match = pattern.match(text)
        if match is not None:
            return match, role
    raise Unreadable(text)


def _note(claims: Claims, groups: dict[str, str], role: str, last: str) -> str:
    """Adds what a sentence claims, and returns the move that it names last."""
    move = groups.get("m", "")
    for name, on in (("v", move), ("w", groups.get("b", ""))):
        if groups.get(name):
            match = re.fullmatch(VERDICT, groups[name])
            assert match is not None
            claims.verdicts.append((on, match.groupdict()))
    if groups.get("b"):
        claims.roles["best"] = groups["b"]
    if role.startswith("played"):
        claims.roles["played"] = move
        if "=" in role and role != "played=value":
            claims.roles[role.split("=")[1]] = move
        claims.value = groups.get("x", "") if role == "played=value" else ""
    elif role.startswith("lose="):
        claims.losing = groups.get("d") or role.split("=")[1]
    elif role == "depth":
        claims.depth = int(groups["d"])
    elif role.startswith("line"):
        claims.lines.append((claims.roles["played"] if "played" in role else last, groups["l"]))
    elif move:
        claims.roles[role] = move
    claims.side |= {groups["s"]} if groups.get("s") else set()
    claims.players |= {groups["p"]} if groups.get("p") else set()
    if groups.get("n"):
        claims.is_careless = True
        claims.players.add(" ".join(groups["n"].split()[:2]))
    claims.is_shortened |= role == "shortened"
    return move or groups.get("b") or last


@dataclass
class Oracle:
    """Checks texts about one stored thought: the position before the move, at a ply, whether the
    level was careless there, and whether the scores are means over the opponent's replies.
    """

    position: Position
    ply: int
    thought: StoredThought
    player: str
    is_careless: bool = False
    has_means: bool = False

    def check(self, text: str) -> Claims:
        """Asserts that every claim of the text is true, and returns the claims."""
        claims = read_claims(text)
        assert claims.side <= {self._side()}, f"the side: {text}"
        assert claims.players <= {self.player}, f"the player: {text}"
        assert claims.is_careless == self.is_careless, f"careless: {text}"
        assert claims.is_shortened == self.thought.warming, f"cut short: {text}"
        assert claims.depth in (None, self.thought.depth), f"the depth: {text}"
        if not self.has_means:
            assert claims.value == self.thought.value, f"the value: {text}"
        for role, move in claims.roles.items():
            assert self._has_role(role, self._token(move)), f"{role} {move}: {text}"
        for move, verdict in claims.verdicts:
            assert self._is_true(self._token(move), verdict), f"{move} {verdict}: {text}"
        for move, line in claims.lines:
            assert self._is_expected(self._token(move), line), f"{move} {line}: {text}"
        if claims.losing:
            self._check_losing(claims.losing, self._token(claims.roles["played"]), text)
        return claims

    def _side(self) -> str:
        return self.position.game.board(self.position.options).seats[self.position.turn].name

    def _token(self, text: str) -> str:
        """The token of a legal move in notation."""
        return self.position.format_move(self.position.parse_move(text))

    @property
    def _moves(self) -> dict[str, RootMove]:
        moves = {move.move: move for move in self.thought.moves}
        for token in self.thought.pv[:1]:
            if token not in moves or not moves[token].proven:
                moves[token] = RootMove(token, self.thought.score)
        return moves

    def _has_role(self, role: str, token: str) -> bool:
        roles: dict[str, Callable[[], bool]] = {
            "played": lambda: token == self.thought.move,
            "best": lambda: token == self.thought.pv[0],
            "only": lambda: self.position.tokens() == [token],
            "random": lambda: self.thought.depth == 0,
            "second": lambda: self._is_second(token),
            "another": lambda: token not in (self.thought.move, self.thought.pv[0]),
            "no better": lambda: self._is_no_better(token),
            "loser": lambda: token in self._losers() and token != self.thought.move,
        }
        return roles[role]()

    def _is_second(self, token: str) -> bool:
        """Whether no other move besides the best and the played one can be as good."""
        before = {self.thought.move, self.thought.pv[0]}
        moves = self._moves
        if set(moves) != set(self.position.tokens()) or token in before:
            return False
        mine = moves[token]
        rest = [move for name, move in moves.items() if name not in before | {token}]
        return mine.bound == "exact" and all(
            move.score < mine.score and move.bound in ("exact", "upper") for move in rest
        )

    def _is_no_better(self, token: str) -> bool:
        """Whether the move's bound only says that its score is at most the best one."""
        move = self._moves[token]
        return move.bound == "upper" and token != self.thought.pv[0] and (
            move.score >= self.thought.score
        )  # fmt: skip

    def _losers(self) -> list[str]:
        return [
            move.move
            for move in self._moves.values()
            if move.score < -FORCED and move.bound in ("exact", "upper")
        ]

    def _check_losing(self, losing: str, played: str, text: str) -> None:
        assert not self.has_means, f"a mean proves no loss: {text}"
        losers = [token for token in self._losers() if token != played]
        legal = len(self.position.tokens())
        expected = legal - 1 if losing == "all" else int(losing)
        assert len(losers) == expected > 0, f"{losing} of {len(losers)} lose: {text}"

    def _is_true(self, token: str, verdict: dict[str, str | None]) -> bool:
        move = self._moves[token]
        if self.has_means or verdict["mean"] is not None:
            said = verdict["mean"] or f"a {verdict['result']} {verdict['how']}"
            return self.has_means and said == self._mean(move.score)
        if move.proven or verdict["result"] is not None:
            return move.proven and self._is_result(move, verdict["result"], verdict["how"])
        bounds = {"at most": "upper", "at least": "lower", None: "exact"}
        if verdict["end"] is not None:
            return self._is_forced(move, verdict["end"], verdict["length"] or "")
        if bounds[verdict["bound"]] != move.bound:
            return False
        percent = 100 * win_chance(self.position.game, move.score)
        assert verdict["chance"] is not None
        chance = int(verdict["chance"])
        exact = min(99, max(1, round(percent)))
        allowed = {"exact": exact, "upper": math.ceil(percent), "lower": math.floor(percent)}
        if abs(move.score) > FORCED or chance != min(99, max(1, allowed[move.bound])):
            return False
        judged = next(words for least, words in LADDER if chance >= least)
        return verdict["judged"] in (None, judged)

    def _mean(self, score: int) -> str:
        """A mean as text; only a move that ends the match has no replies to average over."""
        if MATE - abs(score) == 1:
            return "a win at once" if score > 0 else "a loss at once"
        return f"{'+' if score > 0 else ''}{score} on average"

    def _is_forced(self, move: RootMove, end: str, length: str) -> bool:
        """Whether the score is this forced end, within this distance."""
        sign = 1 if end == "win" else -1
        if sign * move.score <= FORCED or move.bound == ("upper" if sign > 0 else "lower"):
            return False
        plies = MATE - abs(move.score)
        count = plies if self.position.game.rules.NUMBERING == "ply" else math.ceil(plies / 2)
        distance = f"within {count} move{'s' if count > 1 else ''}"
        return length == ("at once" if plies <= 1 else distance)

    def _is_result(self, move: RootMove, result: str | None, how: str | None) -> bool:
        """Whether a solver has proved this result, with this lead or at this exact distance."""
        sign = (move.score > 0) - (move.score < 0)
        if result != {0: "draw", 1: "win", -1: "loss"}[sign]:
            return False
        if sign == 0 or move.bound != "exact":
            return how is None
        rules = self.position.game.rules
        if move.lead is not None:
            assert (move.lead > 0) == (sign > 0)
            lead = abs(move.lead)
            return (
                how
                == f"by {lead} {rules.POINTS_UNIT.rstrip('s') if lead == 1 else rules.POINTS_UNIT}"
            )
        plies = MATE - abs(move.score)
        count = plies if rules.NUMBERING == "ply" else math.ceil(plies / 2)
        return how == ("at once" if plies <= 1 else f"in {count} move{'s' if count > 1 else ''}")

    def _is_expected(self, token: str, line: str) -> bool:
        """Whether the search expected this line after the move, numbers included."""
        lines = {best.line[0]: best.line for best in self.thought.depths if best.line}
        lines |= {move.move: move.line for move in self.thought.moves if getattr(move, "line", ())}
        lines[self.thought.pv[0]] = self.thought.pv
        tokens = self._read_line(token, line)
        return bool(tokens) and tokens == list(lines.get(token, ()))[1 : 1 + len(tokens)]

    def _read_line(self, token: str, line: str) -> list[str]:
        """The tokens of the moves of a line; [] if a number or a move is wrong."""
        position, ply, tokens = self.position.replay(token), self.ply + 1, list[str]()
        number = None
        for word in line.split():
            if re.fullmatch(r"\d+\.(\.\.)?", word):
                number = word
                continue
            if number not in (None, self._number(position, ply)):
                return []
            try:
                move = position.parse_move(word)
            except GameError:
                return []
            tokens.append(position.format_move(move))
            position, ply, number = position.play(move), ply + 1, None
        return tokens

    def _number(self, position: Position, ply: int) -> str:
        if position.game.rules.NUMBERING == "ply":
            return f"{ply + 1}."
        return f"{ply // 2 + 1}{'...' if position.turn else '.'}"
