"""Line mode: the user's name, and a claim after the opponent has gone."""

import asyncio

import pytest

from client.terminal.line import LineMode
from server.commands import Move, MySeat, OpenSeat, Sit
from tests.client.test_line import ADDRESS, CapturedOutput, TypedLines, play
from tests.support.fake_room import ADA, BOB, FakeRoom
from tests.support.scripted_server import Link, memory
from tests.support.virtual_time import run_virtual


def test_a_guest_changes_the_name() -> None:
    """`name` says the name; with a text it changes the name, or says why not."""
    room = FakeRoom()
    run = CapturedOutput(interactive=True)

    async def renaming(link: Link) -> None:
        await link.hello(name="Ada B")
        await link.idle()

    async def refusing(link: Link) -> None:
        await link.expect("hello")
        await link.send(
            {"t": "error", "id": None, "code": "name.refused", "message": "the name is too long"}
        )

    async def main() -> None:
        async with memory(room.serve, renaming, room.serve, refusing) as c:
            lines = TypedLines("name", "name Ada B", "name " + 99 * "x", "b2", "q")
            await LineMode(c, ADDRESS, "r", lines, run.output).run()

    run_virtual(main())
    said = [line for line in run.messages.splitlines() if "You are" in line or "name" in line]
    assert said == ["You are Ada.", "You are now Ada B.", "error: the name is too long"]
    assert "1. Crosses: b2" in run.data


def test_who_may_claim_the_win_is_told_so_at_claim() -> None:
    """There is no draw to claim, but the opponent has gone."""

    class LonelyRoom(FakeRoom):
        def _may(self) -> tuple[str, ...]:
            return (*super()._may(), "claim_win")

    run = play(LonelyRoom(), TypedLines("claim", "q"), interactive=True)
    assert "To claim the win, type claim-win." in run.messages
    assert "no: " not in run.messages


CLAIMS = ("claim_win", "call_draw", "let_ai_play")


@pytest.mark.parametrize(
    ("moves", "may", "left_ms", "sentence"),
    [
        ("", ("abort",), 59_001, "You may abort the match: type abort. Or wait."),
        ("a1", (), 59_001, "In 60 s you may claim the match. Or wait."),
        ("a1", (), 0, "Soon you may claim the match. Or wait."),
        ("a1 b1", (), 59_001, "In 60 s and after your move you may claim the match. Or wait."),
        ("a1 b1", (), 0, "After your move you may claim the match. Or wait."),
    ],
)
def test_a_player_is_told_when_the_match_may_be_claimed_and_then_how(
    moves: str, may: tuple[str, ...], left_ms: int, sentence: str
) -> None:
    """The terminal says what a claim waits for when the opponent goes, and lists the claims when
    the server permits them, exactly those and once; then it reads a line.
    """
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        for ply, move in enumerate(moves.split()):
            await room.act((ADA, BOB)[ply % 2], Move(id=f"m{ply}", ply=ply, move=move))
        await room.send_may(*may)
        await room.send_presence(True, False, gone_ms=(None, left_ms))
        for claims in (CLAIMS, CLAIMS, (), CLAIMS[1:], (), CLAIMS[:1]):
            await room.send_may(*claims)
        await room.send_may(*CLAIMS)
        lines.type("q")  # which is read without a terminal too, on the opponent's turn

    lines = TypedLines()
    run = play(room, lines, other_player=other_player)
    assert [line for line in run.messages.splitlines() if "Or wait" in line] == [
        sentence,
        "You may claim the match: type claim-win, call-draw or let-ai-play. Or wait.",
        "You may claim the match: type call-draw or let-ai-play. Or wait.",
        "You may claim the match: type claim-win. Or wait.",
    ]
