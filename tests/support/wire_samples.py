"""A sample of every message; most belong to one short match of connect four in one room."""

from engine.search.job import Counts, DepthBest, RootMove
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AddTime,
    AiSeat,
    Bar,
    CallDraw,
    Chat,
    Claim,
    ClaimWin,
    Configure,
    Create,
    Decline,
    Hint,
    LetAiPlay,
    Move,
    Mute,
    MySeat,
    NextGame,
    OfferDraw,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
    Stand,
    Takeback,
    Unmute,
)
from server.events import (
    AiTookOver,
    Barred,
    Configured,
    Created,
    Declined,
    Finished,
    Held,
    Hidden,
    Moved,
    Muted,
    Occupant,
    Offered,
    Player,
    PlayerReturned,
    Released,
    Renamed,
    Required,
    RoomEvent,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
    Unmuted,
    format_event_body,
)
from server.protocol import messages as wire
from server.protocol.assessments import Assessment, Candidate, DepthWords
from server.protocol.codec import HIDDEN_BODY, event_frame, format_message
from server.protocol.codes import Code
from server.series import Score

ROOM, MATCH, EPOCH, AT_MS = "r7Kq2", "m91xZ", "e-1", 1_760_000_000_000
ADA = Occupant("g-ada", "Ada <b>&</b> 阿达")
AI = Occupant("ai", "AI level 5", "ai", 5)
MOVE = MoveView("d", ("d",), "d", ghost=("d1", "R"))

#: A sample of every message of a client.
CLIENT: tuple[wire.ClientFrame, ...] = (
    wire.Hello(protocol=1, token="secret", name="Ada"),
    wire.Ping(id="p1"),
    Create(
        id="c1",
        game="sticks",
        options={"rows": "1-3-5-7"},
        visibility="unlisted",
        seats=(AiSeat(3), MySeat()),
    ),
    wire.Join(id="c2", room=ROOM, since=4, epoch=EPOCH),
    wire.Leave(id="c3", room=ROOM),
    wire.CommandFrame(ROOM, Sit(id="c4", seat=1)),
    wire.CommandFrame(ROOM, Stand(id="c5")),
    wire.CommandFrame(ROOM, AddAi(id="c6", seat=1, level=5)),
    wire.CommandFrame(ROOM, RemoveAi(id="c7", seat=1)),
    wire.CommandFrame(ROOM, Configure(id="c19", thinking="spectators")),
    wire.CommandFrame(ROOM, Move(id="c8", ply=0, move="d")),
    wire.CommandFrame(ROOM, Takeback(id="c18", ply=2)),
    wire.CommandFrame(ROOM, Resign(id="c9")),
    wire.CommandFrame(ROOM, Abort(id="c10")),
    wire.CommandFrame(ROOM, Claim(id="c15")),
    wire.CommandFrame(ROOM, OfferDraw(id="c16")),
    wire.CommandFrame(ROOM, Accept(id="c17")),
    wire.CommandFrame(ROOM, Rematch(id="c11")),
    wire.CommandFrame(ROOM, NextGame("c21", "othello", {"size": "6"}, (0, 1), 3)),
    wire.CommandFrame(ROOM, Decline(id="c12")),
    wire.CommandFrame(ROOM, Chat(id="c13", text="a good <i>move</i>?", to="spectators")),
    wire.WatchLobby(id="c14", on=False),
    wire.CommandFrame(ROOM, ClaimWin(id="c18")),
    wire.CommandFrame(ROOM, CallDraw(id="c19")),
    wire.CommandFrame(ROOM, LetAiPlay(id="c20")),
    wire.CommandFrame(ROOM, ReclaimSeat(id="c21")),
    wire.CommandFrame(ROOM, Hint(id="c22", ply=1, what="piece")),
    wire.CommandFrame(ROOM, AddTime(id="c30")),
    wire.CommandFrame(ROOM, Mute(id="c23", identity="g-kim")),
    wire.CommandFrame(ROOM, Unmute(id="c24", identity="g-kim")),
    wire.CommandFrame(ROOM, Bar(id="c25", identity="g-kim")),
)

#: The room's events in order, from v 1.
EVENTS: tuple[RoomEvent | Hidden, ...] = (
    Created("connect-four", {}, "public", "g-ada"),
    SeatTaken(0, Occupant("g-ada", ADA.name)),
    Started(
        MATCH,
        1,
        "......./......./......./......./......./.......",
        "0123456789abcdef",
        (Occupant("g-ada", ADA.name), Occupant("ai", AI.name, "ai", 5)),
    ),
    Moved(MATCH, 0, 0, "d", "fedcba9876543210", text="d1", number="1."),
    Said("g-kim", "Kim", "a good <i>move</i>?"),
    Hidden(),
    Finished(MATCH, 1, "resign", "Red resigned"),
    Offered(0, "draw"),
    Declined(0, "draw"),
    SeatLeft(0),
    Required("strategies"),
    TookBack(MATCH, 0, 0, "0123456789abcdef"),
    AiTookOver(
        MATCH, 0, 1, Occupant("ai", "AI level 4", "ai", 4, kept_for=Player("g-ada", ADA.name))
    ),
    Renamed("g-ada", "Ada Lovelace"),
    PlayerReturned(MATCH, 0, 1, Occupant("g-ada", "Ada Lovelace")),
    Configured("spectators"),
    Muted("g-kim", "Kim"),
    Unmuted("g-kim", "Kim"),
    Barred("g-kim", "Kim"),
    TimeAdded(MATCH, 1, 15_000),
    Held(MATCH, "outage", AT_MS),
    Released(MATCH, (58_000, 61_500), AT_MS + 30_000),
)

BOARD = BoardView(
    board=Grid(cols=7, rows=6, style="holes", gravity=True),
    kinds={"R": Kind("red", side=0, text="R"), "Y": Kind("yellow", side=1, text="Y")},
    seats=(SeatView("Red", "#c0392b"), SeatView("Yellow", "#e1a700")),
    targets={"d": ("d1", "d2", "d3", "d4", "d5", "d6")},
)

#: A sample of every message of the server except events.
SERVER: tuple[wire.Outgoing, ...] = (
    wire.Welcome(protocol=1, identity="g-ada", name="Ada", epoch=EPOCH, at=AT_MS, token="secret"),
    wire.Ack("c1", 3, ROOM),
    wire.Error("c8", Code.MOVE_ILLEGAL, "d is not allowed here"),
    wire.Pong(at=AT_MS, id="p1"),
    wire.Joined(
        room=ROOM,
        v=4,
        epoch=EPOCH,
        description=wire.RoomDescription(
            game="connect-four",
            title="Connect four",
            options={},
            visibility="public",
            host="g-ada",
            created_ms=AT_MS,
            levels=8,
            view=BOARD,
        ),
        seat=0,
        may=("resign", "abort", "offer_draw", "see_thinking", "chat"),
    ),
    wire.May(room=ROOM, v=4, may=("resign", "offer_draw", "see_thinking", "chat")),
    wire.Snapshot(
        room=ROOM,
        v=4,
        seats=(ADA, AI),
        match=wire.MatchState(
            id=MATCH,
            number=1,
            start="......./......./......./......./......./.......",
            rules="0123456789abcdef",
            seats=(ADA, AI),
            moves=(wire.Played("d", "d1", "1."),),
        ),
        chat=(wire.ChatLine(2, AT_MS, "Kim", "hello", "spectators"),),
    ),
    wire.View(
        room=ROOM,
        v=4,
        match=MATCH,
        ply=1,
        view=PositionView({"d1": "R"}, 1, "Yellow to move", {"last": ("d1",)}, ("d1",)),
    ),
    wire.Turn(room=ROOM, v=3, match=MATCH, ply=0, moves=(MOVE,), claim="the same position 3 times"),
    wire.Thinking(
        room=ROOM,
        match=MATCH,
        ply=1,
        seat=1,
        state="searching",
        depth=9,
        score=-12,
        nodes=48_211,
        nps=3_100_000,
        time_ms=16,
        pv=("d", "d", "c"),
        moves=(RootMove("d", -12), RootMove("c", -40, "upper")),
        number="2.",
    ),
    wire.Answer(
        room=ROOM,
        v=5,
        text="d2 is best: 62 % to win.",
        arrows=(wire.Arrow(("d2",)), wire.Arrow(("c1",), "other")),
        candidates=(Candidate(move="d", text="d2", says="62 %", chance=62, cells=("d2",)),),
    ),
    wire.Presence(room=ROOM, seats=(True, False), watching=7, elsewhere=(1,)),
    wire.Lobby(
        full=False,
        rooms=(
            wire.RoomSummary(
                room=ROOM,
                game="connect-four",
                title="Connect four",
                options={},
                seats=(ADA, None),
                state="playing",
                created_ms=AT_MS,
                ply=1,
                length="1 move",
            ),
        ),
        gone=("gone1",),
    ),
    wire.Notification(room=ROOM, what="rematch", text="Ada offers a rematch of Connect four."),
)

#: Further samples of messages with fields that were added later, by the name of their golden file.
LATER: dict[str, wire.ClientFrame | wire.Outgoing] = {
    "server-lobby-away": wire.Lobby(
        full=False,
        rooms=(
            wire.RoomSummary(
                room=ROOM,
                game="connect-four",
                title="Connect four",
                options={},
                seats=(ADA, None),
                state="open",
                created_ms=AT_MS,
                away=(0,),
            ),
        ),
    ),
    "server-lobby-clock": wire.Lobby(
        full=False,
        rooms=(
            wire.RoomSummary(
                room=ROOM, game="connect-four", title="Connect four", options={},
                seats=(ADA, ADA), state="playing", created_ms=AT_MS, ply=2, length="2 moves",
                clock="300+3", speed="blitz",
                times=wire.ClockState(
                    control="300+3", left_ms=(300_000, 300_000), since_ms=AT_MS, running=0
                ),
            ),
        ),
    ),
    "client-next-game-clock": wire.CommandFrame(
        ROOM, NextGame("c24", "othello", clock="600+3x30")
    ),
    "server-snapshot-barred": wire.Snapshot(
        room=ROOM, v=9, seats=(ADA, None), match=None, barred=(Player("g-kim", "Kim"),)
    ),
    "client-configure-help": wire.CommandFrame(ROOM, Configure("c19", "all", help=True)),
    "client-accept-next": wire.CommandFrame(ROOM, Accept("c22", "next", v=12)),
    "client-create-names": Create(
        id="c1", game="sticks", one_screen=True, seats=(MySeat("Mia"), MySeat())
    ),
    "server-snapshot-next": wire.Snapshot(
        room=ROOM,
        v=12,
        seats=(Occupant("g-ada", "Mia", own_name=True), Occupant("g-ada", ADA.name)),
        match=None,
        proposals=(
            wire.Proposal(
                1, "next", v=12, game="othello", options={"size": "6"}, seats=(0, 1), level=3,
                title="Othello",
            ),
        ),
        series=(Score(("g-ada", "ai"), (3, 1)),),
    ),
    "client-create-helped": Create(id="c1", game="sticks", help=True),
    "server-snapshot-muted": wire.Snapshot(
        room=ROOM,
        v=9,
        seats=(ADA, None),
        match=None,
        chat=(
            wire.ChatLine(7, AT_MS, "Kim", "see https://example.org", identity="g-kim", links=True),
            wire.ChatLine(8, AT_MS, "Kim", "/why", identity="g-kim"),
            wire.ChatLine(9, AT_MS, "Plyroom", "it wins", identity="bot", by="bot", answers=8),
        ),
        help=True,
        muted=(Player("g-kim", "Kim"),),
    ),
    "client-create-restricted": Create(id="c1", game="sticks", thinking="after"),
    "server-thinking-assessed": wire.Thinking(
        room=ROOM,
        match=MATCH,
        ply=1,
        seat=1,
        state="done",
        depth=9,
        score=-12,
        nodes=48_211,
        nps=3_100_000,
        time_ms=16,
        pv=("d", "d", "c"),
        moves=(RootMove("d", -12), RootMove("c", -40, "upper")),
        number="2.",
        assessment=Assessment(
            sentence="Yellow likes d2: it expects 3. d3 4. c1 and thinks it is a little worse.",
            chance=44,
            says="44 % to win",
            candidates=(
                Candidate(move="d", text="d2", says="44 %", chance=44, cells=("d2",)),
                Candidate(
                    move="c", text="c1", says="worse than 32 %", chance=32, bound="upper",
                    cells=("c1",),
                ),
            ),
            note="Level 5 was careless here on purpose.",
        ),
    ),
    "server-thinking-depths": wire.Thinking(
        room=ROOM,
        match=MATCH,
        ply=1,
        seat=1,
        state="searching",
        depth=3,
        score=-12,
        nodes=48_211,
        nps=3_100_000,
        time_ms=16,
        pv=("d", "d", "c"),
        moves=(
            RootMove("d", -12, nodes=40_000, exact=(1, 3)),
            RootMove("c", -40, "upper", nodes=8_211, exact=(2,)),
            RootMove("e", -60, "upper"),
            RootMove("a", -90, "upper"),
        ),
        number="2.",
        counts=Counts(cuts=3_412, first_cuts=3_105, table_hits=20_000, table_cuts=12_300),
        depths=(
            DepthBest(1, 4, ("d",)),
            DepthBest(2, -3, ("c", "d")),
            DepthBest(3, -12, ("d", "d", "c")),
        ),
        assessment=Assessment(
            sentence="Yellow likes d2: it expects 3. d3 4. c1 and thinks it is a little worse.",
            chance=44,
            says="44 % to win",
            candidates=(
                Candidate(
                    move="d", text="d2", says="44 %", chance=44, cells=("d2",), line="3. d3 4. c1"
                ),
                Candidate(
                    move="c", text="c1", says="worse than 32 %", chance=32, bound="upper",
                    cells=("c1",), line="3. d2",
                ),
                Candidate(
                    move="e", text="e1", says="worse than 25 %", chance=25, bound="upper",
                    cells=("e1",),
                ),
            ),
            others=(
                Candidate(
                    move="a", text="a1", says="worse than 20 %", chance=20, bound="upper",
                    cells=("a1",),
                ),
            ),
            depths=(
                DepthWords(depth=1, move="d", text="d2", chance=52),
                DepthWords(depth=2, move="c", text="c1", chance=49),
                DepthWords(depth=3, move="d", text="d2", chance=44),
            ),
            work="3,412 branches cut off, 91 % of them by the first move tried. Answered from "
            "memory 12,300 times.",
        ),
    ),
    "server-thinking-withheld": wire.Thinking(
        room=ROOM,
        match=MATCH,
        ply=1,
        seat=1,
        state="searching",
        number="2.",
        withheld="What the AI thinks is shown after the match.",
    ),
}  # fmt: skip


#: The same of events.
LATER_EVENTS: dict[str, RoomEvent] = {
    "event-offered-next": Offered(
        1, "next", game="othello", options={"size": "6"}, seats=(0, 1), level=3, title="Othello",
        options_text="six by six",
    ),
    "event-offered-clock": Offered(
        1, "next", game="othello", options={}, seats=(1, 0), title="Othello", clock="-"
    ),
    "event-started-game": Started(
        MATCH, 2, "start", "0123456789abcdef", (Occupant("g-ada", ADA.name),) * 2,
        game="othello", options={"size": "6"}, title="Othello",
    ),
}  # fmt: skip


def frames() -> dict[str, bytes]:
    """Returns every sample as a frame, by the name of its golden file."""
    named = {f"client-{_tag(message)}": format_message(message) for message in CLIENT}
    named |= {f"server-{_tag(message)}": format_message(message) for message in SERVER}
    named |= {name: format_message(message) for name, message in LATER.items()}
    for name, later in LATER_EVENTS.items():
        named[name] = event_frame(ROOM, 12, AT_MS + 12, format_event_body(later))
    for v, event in enumerate(EVENTS, 1):
        body = HIDDEN_BODY if isinstance(event, Hidden) else format_event_body(event)
        named[f"event-{_tag(event)}"] = event_frame(ROOM, v, AT_MS + v, body)
    return named


def _tag(message: wire.ClientFrame | wire.Outgoing | RoomEvent | Hidden) -> str:
    inner = message.command if isinstance(message, wire.CommandFrame) else message
    return str(inner.__struct_config__.tag)
