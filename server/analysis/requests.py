"""Requests for analyses, and their limits, which the store counts for all nodes together."""

from engine.game import Game
from server.analysis.subjects import read_subject
from server.codes import Code
from server.ids import IdentityId
from server.ports import Ports
from server.rooms.model import CommandRejected
from server.store.base import DAY_MS, StoredMatch


class AnalysisLimit(CommandRejected):
    """The identity has reached a limit of analyses; the message says which one."""


async def request_analysis(ports: Ports, match: StoredMatch, identity: IdentityId) -> bool:
    """Queues the analysis of a match, unless it is queued, running or done.

    Returns whether it queued the analysis. Raises CannotAnalyse and AnalysisLimit.
    """
    found = await ports.store.analyses.find(match.match)
    if found is not None and found.state != "failed":
        return False
    subject = await read_subject(ports, match)
    _expect_search(ports, subject.game)
    await _check_limits(ports, identity)
    return await ports.store.analyses.request(match.match, identity, subject.plies)


def _expect_search(ports: Ports, game: Game) -> None:
    """Announces the game to the engines, which compile its search first."""
    if not ports.engines.is_warm(game.id):
        ports.engines.expect(game.id)


async def _check_limits(ports: Ports, identity: IdentityId) -> None:
    """Raises AnalysisLimit if the identity has too many unfinished or recent analyses."""
    settings = ports.settings
    usage = await ports.store.analyses.usage(identity, DAY_MS)
    running, waiting = settings.limit_background_running, settings.limit_background_waiting
    if running and waiting and usage.unfinished >= running + waiting:
        raise AnalysisLimit(
            Code.RATE_EXCEEDED,
            f"{usage.unfinished} of your analyses are running or waiting;"
            " wait until one of them has ended",
        )
    per_day = settings.limit_studies_per_day
    if per_day and usage.requested >= per_day:
        raise AnalysisLimit(
            Code.RATE_EXCEEDED,
            f"you have reached the limit of {per_day} {_analyses(per_day)} a day;"
            " try again tomorrow",
        )


def _analyses(count: int) -> str:
    return "analysis" if count == 1 else "analyses"
