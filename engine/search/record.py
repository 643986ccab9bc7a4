"""The record of a search: what its depths have found about each root move.

No compiled code is called here.
"""

from msgspec.structs import replace

from engine.search import layout
from engine.search.job import MAX_DEPTHS, MAX_EXACT_DEPTHS, MAX_LINE_MOVES, DepthBest, Info
from engine.search.report import Report


class SearchRecord:
    """Collects the reports of one search, and adds what they have in common to its infos."""

    def __init__(self) -> None:
        self._depths: list[DepthBest] = []
        #: The nodes spent on each root move, and the depths at which its score was exact.
        self._nodes: dict[str, int] = {}
        self._exact: dict[str, list[int]] = {}

    def add(self, report: Report, info: Info) -> Info:
        """Records a report, and returns its info with the record so far.

        A second report of the same depth has the better move that the next depth found before it
        was stopped: the record has that move at the next depth.
        """
        is_complete = not self._depths or report.depth > self._depths[-1].depth
        depth = report.depth if is_complete else report.depth + 1
        self._depths.append(DepthBest(depth, info.score, info.pv[:MAX_LINE_MOVES]))
        moves = info.moves if is_complete else info.moves[:1]
        for move, (_, _, bound) in zip(moves, report.moves, strict=False):
            if bound == layout.EXACT:
                self._exact.setdefault(move.move, []).append(depth)
        for move, nodes in zip(moves, report.move_nodes, strict=False):
            self._nodes[move.move] = self._nodes.get(move.move, 0) + nodes
        return self._extend(info)

    def _extend(self, info: Info) -> Info:
        return replace(
            info,
            depths=tuple(self._depths[-MAX_DEPTHS:]),
            moves=tuple(
                replace(
                    move,
                    nodes=self._nodes.get(move.move, 0),
                    exact=tuple(self._exact.get(move.move, ())[-MAX_EXACT_DEPTHS:]),
                )
                for move in info.moves
            ),
        )
