"""The bot's sentences about positions and moves, in English.

Each sentence has several templates. `seed` chooses one of them, so that the same facts have the
same words on every node. Pure.
"""

from collections.abc import Sequence

from engine.search.levels import random_below
from server.bot.explanations.facts import MoveFacts, Verdict
from server.protocol.wording import JUDGEMENTS

#: The choice of the best move.
BEST = (
    "{side} chose {move}: {verdict}.",
    "The best move that {side} found was {move}, with {verdict}.",
    "{move} looked best to {side}: {verdict}.",
    "{side} compared the moves and liked {move} most, with {verdict}.",
    "{move} came out on top of the search by {side}: {verdict}.",
)
#: The choice of the only legal move.
ONLY = (
    "{move} was the only legal move: {verdict}.",
    "{side} had no choice, {move} was the only legal move: {verdict}.",
)
#: A level's choice among moves that look nearly equal.
NEAR = (
    "{player} picks among moves that look nearly equal: {side} took {move}, with {verdict}, though"
    " the search preferred {best}, with {best_verdict}.",
    "{side} played {move}, with {verdict}. The search preferred {best}, with {best_verdict}, but"
    " {player} does not always choose the best move.",
)
#: A swindler's choice of a move after which an error costs most.
SWINDLE = (
    "{side} set a trap with {move}: {verdict}, but an error costs most there. The search preferred"
    " {best}, with {best_verdict}.",
    "{side} played {move}, with {verdict}, because an error costs most after it. The search"
    " preferred {best}, with {best_verdict}.",
)
#: The choice of another move than the best one, without a known reason.
OTHER = ("{side} played {move}, with {verdict}. The search preferred {best}, with {best_verdict}.",)
#: The choice of a persona that expects errors of its opponent.
AVERAGE = (
    "{player} expects the opponent to err; {move} gave {side} {verdict}.",
    "{side} chose {move} against an opponent who errs, with {verdict}.",
)
#: A move without a search.
RANDOM = ("{side} played {move} at random.", "{move} was a random choice of {side}.")
#: The choice of a strategy, which has values of its own.
STRATEGY = (
    "{side} chose {move} and valued the position at {value}.",
    "{player} likes {move} here and values the position of {side} at {value}.",
)
#: A move on which the search has no verdict.
BARE = ("{side} played {move}.",)
#: A move on which the search has no verdict, while another one was best.
BARE_WORSE = ("{side} played {move}. The search preferred {best}, with {best_verdict}.",)
#: A careless move of a low level, with the note that says so.
CARELESS = (
    "{side} played {move} after a glance. {note}",
    "{note} {side} just played {move}.",
    "Do not look for a deep idea in {move}. {note}",
    "{move} was played without thinking it over. {note}",
)
#: The addition to a careless move that was not the best one of its short search.
CARELESS_BETTER = " Even that glance preferred {best}, with {best_verdict}."

#: The moves that the search expected next.
NEXT = (
    "Expected next: {line}.",
    "{side} expects {line} now.",
    "The likely continuation is {line}.",
    "As {side} sees it, {line} should follow.",
)
#: The next candidate, if it is proved to be the second best.
SECOND = (
    "Second best was {text}, with {verdict}.",
    "The runner-up was {text}: {verdict}.",
    "{text} came second, with {verdict}.",
)
#: The next candidate, if another move may be better.
ANOTHER = (
    "{text} was weighed as well: {verdict}.",
    "Among the other moves, {text} had {verdict}.",
    "For comparison, {text} had {verdict}.",
)
#: The next candidate, if its bound only says that it is no better than the best move.
NO_BETTER = (
    "{text} was weighed as well and proved no better.",
    "The search showed that {text} is no better.",
)
#: What the search expected after the next candidate.
AFTER_IT = " After it the search expected {line}."
#: All other moves lose by force.
ALL_LOSE = ("Every other move loses by force.", "All other moves lose by force.")
#: One of several other moves loses by force.
ONE_LOSES = ("One other move loses by force.",)
#: Some of the other moves lose by force.
SOME_LOSE = ("{count} other moves lose by force.", "{count} of the other moves lose by force.")
#: An example of a losing move, after a sentence about several.
LOSER = (" {text}, for example, is {verdict}.", " One of them is {text}: {verdict}.")
#: The losing move, after a sentence about a single one.
THE_LOSER = (" It is {text}: {verdict}.",)

#: The depth of the search.
DEPTH = ("The search went {depth} plies deep.", "{side} looked {depth} plies ahead.")
#: The reason for a search of little depth.
SHORTENED = "The search was cut short because the game is still being compiled."

#: The beginning of a hint where even the best move loses.
EVERY_MOVE_LOSES = "Every move loses here."
#: The coach's comment on a move that loses much.
MISTAKE = (
    "Coach: {move} lowers the chance to win by about {loss} points. {better} was better{line}.",
    "Coach: {move} costs about {loss} points of the chance to win. {better} was better{line}.",
    "Coach: after {move} the chance to win is about {loss} points lower. Better was"
    " {better}{line}.",
)
#: The coach's comment on a move that gives a proven result away.
PROVEN_MISTAKE = (
    "Coach: {move} {result}, but {better} {best}{line}.",
    "Coach: after {move} the result is worse: it {result}. {better} {best}{line}.",
    "Coach: {better} {best}{line}. {move} {result}.",
)
#: The refutation of a mistake.
REFUTED = " {move} is answered by {reply}."
#: The same where the player has further moves before the opponent's reply.
REFUTED_LATER = " {move} goes on with {further} and is answered by {reply}."
#: The player's further moves, if no reply is known.
CONTINUED = " {move} goes on with {further}."
#: The coach's comment on the only good move.
ONLY_MOVE = (
    "Coach: well seen! {move} was the only good move; any other has {bound} % to win or less.",
    "Coach: {move} was the only good move, and you found it. The others have {bound} % to win or"
    " less.",
    "Coach: very good. Without {move} the chance to win would be {bound} % or less.",
)
#: The coach's comment on the only move that keeps a proven result.
PROVEN_ONLY_MOVE = (
    "Coach: well seen! {move} was the only move that {result}; every other one {others}.",
    "Coach: {move} was the only move that {result}, and you found it. Every other one {others}.",
    "Coach: very good. Only {move} {result}; every other move {others}.",
)


def explain_move(facts: MoveFacts, seed: str) -> str:
    """The sentences that say why an AI played its move."""
    parts = [
        _choice(facts, seed),
        _next(facts, seed),
        _second(facts, seed),
        _losing(facts, seed),
        _depth(facts, seed),
    ]
    return " ".join(filter(None, parts))


def evaluation(side: str, best: Verdict) -> str:
    """The sentence about a position: the chance of the side to move."""
    return f"{side} to move {best.says or f'has {_with_judgement(best)}'}."


def best_move(best: Verdict, *, are_equal: bool = False) -> str:
    """The sentences about the best move of a position. Others may be as good as it."""
    expected = f" After it, {best.line} is expected." if best.line else ""
    if best.forced == "loss":
        return f"{EVERY_MOVE_LOSES} {_held_out(best)}.{expected}"
    if are_equal:
        return f"{best.text} is as good as any: {_judged(best)}.{expected}"
    return f"The best move is {best.text}: {_judged(best)}.{expected}"


def _held_out(best: Verdict) -> str:
    """What the best of moves that all lose is good for, as far as the search knows it."""
    if best.length.startswith("by"):
        return f"{best.text} loses least: {best.length}"
    if not best.says:
        return f"{best.text} holds out longest, as far as the bot sees: {_judged(best)}"
    if best.length:
        return f"{best.text} holds out longest: {_judged(best)}"
    return f"{best.text} is no worse than any other"


def best_moves(verdicts: Sequence[Verdict]) -> str:
    """The best moves of a position, one in each line, the best one first."""
    lines = [
        f"{number}) {each.text}: {each.says or verdict_text(each)}"
        f"{f', then {each.line}' if each.line else ''}"
        for number, each in enumerate(verdicts, 1)
        if each.chance is not None
    ]
    heading = "The best moves:" if len(lines) > 1 else "The best move:"
    loses = verdicts[0].forced == "loss"
    return "\n".join([f"{EVERY_MOVE_LOSES} {heading}" if loses else heading, *lines])


def piece_hint(piece: str, moves: Sequence[str], *, are_equal: bool = False) -> str:
    """The weakest hint: the piece to move or, where moves place pieces, moves to choose from.

    They may be equally good, as far as the search knows.
    """
    if piece:
        return f"Look at the {piece}."
    if len(moves) == 1:
        return f"There is not much choice: look at {moves[0]}."
    *others, last = sorted(moves)
    if are_equal:
        return f"No move stands out: {', '.join(others)} and {last} seem equally good."
    return f"One of these is the best move: {', '.join(others)} or {last}."


def threat(side: str, best: Verdict, *, is_their_turn: bool) -> str:
    """The sentence about the move that the opponent would play."""
    moves = f"{side} is to move, and its best move is" if is_their_turn else (
        f"If {side} could move now, it would play"
    )  # fmt: skip
    return f"{moves} {best.text}: {_judged(best)}."


def expected_reply(other: str, reason: str, best: Verdict) -> str:
    """The sentences about a threat in a position without a null move, for this reason.

    `other` is the name of the side that is not to move.
    """
    text = f"No threat is known here: with {other} to move, {reason}."
    expected = f" After your best move {best.text}, {best.line} is expected." if best.line else ""
    return text + expected


def mistake(move: str, better: Verdict, loss: float, further: str, reply: str, seed: str) -> str:
    """The coach's sentences about a move that lowers the chance to win by `loss`, 0 to 1.

    `further` are the moves that the same player makes next, in a game with extra turns; `reply` are
    those from the opponent's reply on.
    """
    line = f", with {better.line} to follow" if better.line else ""
    text = pick(seed, "mistake", MISTAKE).format(
        move=move, better=better.text, loss=round(100 * loss), line=line
    )
    return text + _refutation(move, further, reply)


def _refutation(move: str, further: str, reply: str) -> str:
    """The sentence about the moves after a mistake; "" if none are known."""
    if further:
        refuted = REFUTED_LATER if reply else CONTINUED
    else:
        refuted = REFUTED if reply else ""
    return refuted.format(move=move, further=further, reply=reply)


def proven_mistake(
    move: str, result: str, better: Verdict, further: str, reply: str, seed: str
) -> str:
    """The coach's sentences about a move that gives a proven result away.

    `result` is what the move is proven to do, such as "only draws"; the rest is as in `mistake`.
    """
    line = f", with {better.line} to follow" if better.line else ""
    text = pick(seed, "mistake", PROVEN_MISTAKE).format(
        move=move, result=result, better=better.text, best=better.says, line=line
    )
    return text + _refutation(move, further, reply)


def only_move_with_result(move: str, result: str, others: str, seed: str) -> str:
    """The coach's praise of the only move with this proven result, such as "wins"."""
    return pick(seed, "only", PROVEN_ONLY_MOVE).format(move=move, result=result, others=others)


def only_move(move: str, bound: int, seed: str) -> str:
    """The coach's praise of the only good move; any other has at most `bound` percent."""
    return pick(seed, "only", ONLY_MOVE).format(move=move, bound=bound)


def verdict_text(verdict: Verdict) -> str:
    """A verdict as a noun: "62 % to win", "at most 30 % to win", "a forced win within 3 moves", "a
    win by 12 discs", "+312 on average".
    """
    if verdict.says:
        return f"a {verdict.forced} {verdict.length}".rstrip()
    if verdict.mean:
        return verdict.mean
    assert verdict.chance is not None, "the bound says something"
    if verdict.forced:
        return f"a forced {verdict.forced} {verdict.length}".rstrip()
    bound = {"exact": "", "upper": "at most ", "lower": "at least "}[verdict.bound]
    return f"{bound}{verdict.chance} % to win"


def judgement(chance: int) -> str:
    """A chance to win in words: "clearly better", "even"."""
    for least, better, worse in JUDGEMENTS:
        if chance >= least:
            return better
        if chance <= 100 - least:
            return worse
    return "even"


def pick(seed: str, part: str, templates: tuple[str, ...]) -> str:
    """The template that the seed chooses for a part of a text."""
    return templates[random_below(f"{seed}:{part}", len(templates))]


def _choice(facts: MoveFacts, seed: str) -> str:
    """The sentence about the move that was played."""
    return pick(seed, "choice", _templates(facts)).format(
        side=facts.side, player=facts.player, move=facts.move, value=facts.value, note=facts.note,
        verdict="" if facts.played is None else _with_judgement(facts.played),
        best="" if facts.best is None else facts.best.text,
        best_verdict="" if facts.best is None else verdict_text(facts.best),
    )  # fmt: skip


def _templates(facts: MoveFacts) -> tuple[str, ...]:
    """The templates for the reason of a choice."""
    match facts.reason:
        case "random":
            return RANDOM
        case "strategy":
            return STRATEGY
        case "careless":
            is_worse = facts.best is not None and not facts.best.forced
            return tuple(text + CARELESS_BETTER for text in CARELESS) if is_worse else CARELESS
    if facts.played is None:
        return BARE if facts.best is None else BARE_WORSE
    if facts.reason == "only":
        return ONLY
    if facts.reason == "average":
        return AVERAGE
    if facts.best is None:
        return BEST
    return {"near": NEAR, "swindle": SWINDLE}.get(facts.reason, OTHER)


def _with_judgement(verdict: Verdict) -> str:
    """A verdict with its judgement: "62 % to win (a little better)"."""
    text = verdict_text(verdict)
    if verdict.forced or verdict.bound != "exact" or verdict.chance is None:
        return text
    return f"{text} ({judgement(verdict.chance)})"


def _judged(verdict: Verdict) -> str:
    """A verdict after a move and a colon: "it wins in 3 moves", "62 % to win (a little better)"."""
    return f"it {verdict.says}" if verdict.says else _with_judgement(verdict)


def _next(facts: MoveFacts, seed: str) -> str:
    """The sentence about the expected continuation; "" without one."""
    if facts.played is None or not facts.played.line:
        return ""
    return pick(seed, "next", NEXT).format(side=facts.side, line=facts.played.line)


def _second(facts: MoveFacts, seed: str) -> str:
    """The sentence about the next candidate; "" without one, or if all other moves lose."""
    second = facts.second
    if second is None or facts.reason in ("careless", "only"):
        return ""
    if facts.losing == facts.others > 0:
        return ""
    if (second.chance is None and not second.mean) or facts.is_no_better:
        return (
            pick(seed, "second", NO_BETTER).format(text=second.text) if facts.is_no_better else ""
        )
    templates = SECOND if facts.is_second_sure else ANOTHER
    text = pick(seed, "second", templates).format(text=second.text, verdict=verdict_text(second))
    return text + AFTER_IT.format(line=second.line) if second.line else text


def _losing(facts: MoveFacts, seed: str) -> str:
    """The sentence about the moves that lose by force; "" if there are none."""
    if not facts.losing or facts.reason == "careless":
        return ""
    if facts.losing == facts.others > 1:
        templates: tuple[str, ...] = ALL_LOSE
    else:
        templates = ONE_LOSES if facts.losing == 1 else SOME_LOSE
    text = pick(seed, "losing", templates).format(count=facts.losing)
    loser = facts.loser
    is_named = facts.second is not None and loser is not None and facts.second.text == loser.text
    if loser is None or (is_named and facts.losing < facts.others):
        return text
    examples: tuple[str, ...] = THE_LOSER if facts.losing == 1 else LOSER
    return text + pick(seed, "loser", examples).format(text=loser.text, verdict=verdict_text(loser))


def _depth(facts: MoveFacts, seed: str) -> str:
    """The sentence about the depth of the search, in one of three texts; "" in the others."""
    if facts.is_shortened:
        return SHORTENED
    is_searched = facts.depth > 1 and not facts.value and facts.played is not None
    if not is_searched or random_below(f"{seed}:says depth", 3):
        return ""
    return pick(seed, "depth", DEPTH).format(side=facts.side, depth=facts.depth)
