"""The searches behind the help with positions: their jobs, and their results in words. Pure."""

from msgspec.structs import replace

from engine.game import GameFault, Position
from engine.search.job import LINES, NULL_MOVE, Job, Limit, Result
from server.bot.explanations.facts import Verdict, side_name, verdict
from server.protocol.assessments import Candidate
from server.protocol.messages import Arrow
from server.protocol.wording import Wording, best_of
from server.rooms.model import Match, Room

#: Node limit of the search for a hint.
HINT_NODES = 100_000
#: Number of best moves with exact scores in a hint.
HINT_LINES = 3
#: Node limit of the search for a threat.
THREAT_NODES = 60_000


def match_job(room: Room, match: Match, ply: int, nodes: int, lines: int = 1) -> Job:
    """The job for the position of a match at a ply."""
    game = room.game
    assert game is not None, "help needs the game"
    return Job(
        game=game.id, rules=game.digest, options=dict(room.options), start=match.start,
        moves=tuple(played.move for played in match.moves[:ply]), affinity="",
        limit=Limit(nodes=nodes), digest=match.digest if ply == match.ply else "",
        needs=(LINES,) if lines > 1 else (), use="ask", lines=lines,
        solver_nodes=game.rules.SOLVER_NODES,
    )  # fmt: skip


def hint_job(room: Room, match: Match) -> Job:
    """The job for a hint in the current position of a match."""
    return match_job(room, match, match.ply, HINT_NODES, HINT_LINES)


def threat_job(room: Room, match: Match) -> Job:
    """The job for the current position of a match with the other side to move."""
    job = match_job(room, match, match.ply, THREAT_NODES)
    return replace(job, needs=(NULL_MOVE,), null_move=True)


class Findings:
    """The result of a search in words. `ply` is that of the position in its match."""

    def __init__(self, position: Position, ply: int, result: Result) -> None:
        self.turn = position.turn
        self.side = side_name(position, position.turn)
        self._position = position
        info = result.info
        assessment = Wording(position, ply).assessment(info)
        #: The best moves, the best one first. There is at least one.
        self.candidates: tuple[Candidate, ...] = () if assessment is None else assessment.candidates
        self._scores = {move.move: move for move in info.moves}
        self._scores[info.pv[0]] = best_of(info)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts on the candidates."""
        game = self._position.game
        return tuple(
            verdict(game, each.text, self._scores[each.move], each.line)
            for each in self.candidates
            if each.move in self._scores and each.chance is not None
        )

    @property
    def best(self) -> Verdict:
        return self.verdicts[0]

    @property
    def are_equal(self) -> bool:
        """Whether the search knows several best moves, with one score for all of them, and none
        that loses by force.
        """
        scores = [self._scores.get(each.move) for each in self.candidates]
        values = {None if known is None else (known.score, known.bound) for known in scores}
        is_known = len(scores) > 1 and len(values) == 1 and None not in values
        return is_known and self.best.forced != "loss"

    def arrows(self, kind: str = "best", count: int = 3) -> tuple[Arrow, ...]:
        """The arrows of the best moves. All but the first have the kind "other", unless all are
        equally good.
        """
        return tuple(
            Arrow(each.cells, "other" if index and not self.are_equal else kind)
            for index, each in enumerate(self.candidates[:count])
            if each.cells
        )

    def piece(self) -> str:
        """The piece of the best move, and its cell: "white knight on g1".

        "" in a game whose moves place pieces, or if the rules fail.
        """
        cells = self.candidates[0].cells
        if len(cells) < 2:
            return ""
        try:
            kind = self._position.view().pieces[cells[0]]
            board = self._position.game.board(self._position.options)
            return f"{board.kinds[kind].name} on {cells[0]}"
        except (GameFault, KeyError):
            return ""
