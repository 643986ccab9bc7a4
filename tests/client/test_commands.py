"""Parsing of typed lines, and the terminal's texts."""

import re
from typing import get_args

import msgspec
import pytest

from client.address import parse_address
from client.model import Model
from client.terminal import queries, words
from client.terminal.commands import (
    ARGUMENTS,
    COMMANDS,
    NEXT_USAGE,
    PERMITTED_AS,
    ROOM_COMMANDS,
    WITH_TEXT,
    CommandName,
    PlayMove,
    PressKey,
    RunCommand,
    SendChat,
    TryMove,
    Unclear,
    help_text,
    next_command,
    parse_line,
    plain_command,
    sorted_ids,
)
from engine.rules.registry import load_game
from engine.view import BoardView, Grid, MoveView
from server.commands import Accept, Decline, NextGame
from server.events import Occupant, Player, Termination
from server.protocol.assessments import Assessment, Candidate
from server.protocol.messages import (
    ChatLine,
    MatchResult,
    MatchState,
    Played,
    Proposal,
    RoomDescription,
    Thinking,
    Turn,
)

#: A match in progress.
MATCH = MatchState(id="m", number=1, start="", rules="", seats=(), moves=())


def room(board: BoardView, *moves: MoveView) -> Model:
    """Returns a room in which this player is to move and has these moves."""
    turn = Turn(room="r", v=1, match="m", ply=0, moves=moves)
    description = RoomDescription(
        game="g",
        title="G",
        options={},
        visibility="public",
        host="",
        created_ms=0,
        levels=1,
        view=board,
    )
    return Model(room="r", match=MATCH, turn=turn, description=description)


CHESS = BoardView(Grid(8, 8), {}, ())
PROMOTIONS = [MoveView(f"a7a8{c}", ("a7", "a8"), f"a8={c.upper()}", choice=c) for c in "qr"]
PAWN = MoveView("e2e4", ("e2", "e4"), "e4")
CONNECT_FOUR = room(
    load_game("connect-four").board({}), *load_game("connect-four").start().move_views()
)
WAITING = msgspec.structs.replace(CONNECT_FOUR, turn=None)
NOT_BEGUN = msgspec.structs.replace(WAITING, match=None)
OVER = msgspec.structs.replace(
    WAITING,
    match=msgspec.structs.replace(MATCH, over=MatchResult(0, "resign", "Yellow resigned")),
)
STICKS = room(
    load_game("sticks").board({"rows": "1-2-3"}), *load_game("sticks").start().move_views()
)


def test_withheld_thinking_is_not_called_missing() -> None:
    """Where the server does not let the viewer see the thinking, `thinking` says so before the
    AI's first search, too.
    """
    for may, answer in (
        (("resign", "see_thinking"), "The AI has reported no scores."),
        (("resign",), "This room does not show you what the AI thinks during the match."),
    ):
        model = msgspec.structs.replace(CONNECT_FOUR, may=may)
        assert queries.answer_query(model, CommandName.THINKING, "", colours=0) == answer


@pytest.mark.parametrize("text", ["e2e4", "e4", "E2-E4", "e2 e4", "e2xe4", "  e2e4 "])
def test_a_move_may_be_typed_in_many_forms(text: str) -> None:
    assert parse_line(text, room(CHESS, PAWN, *PROMOTIONS)) == PlayMove(PAWN)


def test_an_ambiguous_move_is_rejected_with_its_meanings() -> None:
    model = room(CHESS, PAWN, *PROMOTIONS)
    assert parse_line("a7a8", model) == Unclear("a7a8 can be any of: a7a8q (q), a7a8r (r)")
    assert parse_line("a8=r", model) == PlayMove(PROMOTIONS[1])


def test_an_exact_token_takes_precedence_over_one_without_separators() -> None:
    """The tokens of Sticks contain an x, which is otherwise a separator between cells."""
    assert parse_line("3x2", STICKS) == PlayMove(next(m for m in STICKS.moves if m.id == "3x2"))
    assert parse_line("32", STICKS) == PlayMove(next(m for m in STICKS.moves if m.id == "3x2"))


def test_legal_moves_are_listed_in_order() -> None:
    """Names go by their letters and numbers by their value, whatever order the server sends."""
    moves = [MoveView(id, (), id) for id in ("b1", "a10", "12-16", "a2", "9-14", "pass")]
    assert sorted_ids(moves) == ["9-14", "12-16", "a2", "a10", "b1", "pass"]


def test_a_move_hides_the_short_form_of_a_command() -> None:
    """In a game with a move "b" only `board` shows the board, even on the opponent's turn."""
    assert isinstance(parse_line("b", CONNECT_FOUR), PlayMove)
    assert parse_line("b", WAITING) == Unclear("It is not your turn.")
    assert parse_line("b", NOT_BEGUN) == Unclear("The match has not begun.")
    assert parse_line("b", OVER) == Unclear("The match is over.")
    assert (
        parse_line("board", CONNECT_FOUR)
        == parse_line("BOARD", WAITING)
        == RunCommand(CommandName.BOARD)
    )
    assert "board, b" not in help_text(CONNECT_FOUR)
    assert "moves, m" in help_text(CONNECT_FOUR)


def test_the_help_marks_commands_that_are_not_permitted_now() -> None:
    """In the list of all commands those that the server does not list are marked; commands that
    only print never are.
    """
    model = msgspec.structs.replace(CONNECT_FOUR, may=("resign", "offer_draw"))
    lines = help_text(model, "all").splitlines()
    marked = {line.split()[0] for line in lines if "(not now)" in line}
    assert marked == {
        *("abort", "claim", "rematch", "takeback", "accept", "decline", "sit", "stand", "ai"),
        *("claim-win", "call-draw", "let-ai-play", "reclaim", "mute-all", "unmute-all", "hint"),
        *("bar", "allow-help", "next", "easier", "harder", "add-time"),
    }
    assert all(len(line) < 80 for line in lines)


ADA = Occupant("a", "Ada")
LEVEL = Occupant("ai", "AI level 3", kind="ai", level=3)
#: Everything that the server may permit, which is more than it ever permits at once.
EVERYTHING = tuple(PERMITTED_AS.values())


@pytest.mark.parametrize("seats", [(ADA, LEVEL), (ADA, Occupant("b", "Bob")), (None, ADA)])
@pytest.mark.parametrize("may", [(), ("resign", "offer_draw", "takeback"), EVERYTHING, None])
def test_the_help_of_now_fits_a_terminal(
    seats: tuple[Occupant | None, ...], may: tuple[str, ...] | None
) -> None:
    """It has what the viewer may do, in 80 columns, and with the typed line and the prompt in 24
    lines. Every command of now is named, and no other; `help all` leads to them.
    """
    turn = Turn(room="r", v=1, match="m", ply=0, moves=CONNECT_FOUR.moves, claim="a draw")
    model = msgspec.structs.replace(
        CONNECT_FOUR, may=may, seats=seats, chat_commands=("help",), me="a", turn=turn
    )
    lines = help_text(model).splitlines()
    assert len(lines) <= 22
    assert all(len(line) < 80 for line in help_text(model).splitlines()[:21])
    named = set(re.findall(r"[a-z-]+", " ".join(line[:18] for line in lines) + lines[-1]))
    for name, permission in PERMITTED_AS.items():
        if name not in (CommandName.EASIER, CommandName.HARDER):
            assert (name.value in named) == (may is None or permission in may), name
    assert "help all" in "\n".join(lines)


@pytest.mark.parametrize("text", ["Nf3", "e4", "O-O", "exd8=Q+"])
def test_a_move_out_of_turn_is_answered_as_one(text: str) -> None:
    """A text that can only be a move is no unknown command while the opponent is to move."""
    waiting = msgspec.structs.replace(room(CHESS, PAWN), turn=None)
    assert parse_line(text, waiting) == Unclear("It is not your turn.")


@pytest.mark.parametrize(
    "text",
    [
        "why did you play that",
        "i am stuck",
        "can i undo that",
        "hint please",
        "@bot who is winning",
    ],
)
def test_plain_questions_are_for_the_bot(text: str) -> None:
    """They go to the chat without a question mark too, in a room with an AI; between people only
    those that name the bot. A word that is a command stays one.
    """
    model = msgspec.structs.replace(CONNECT_FOUR, seats=(ADA, LEVEL), chat_commands=("why",))
    assert parse_line(text, model) == SendChat(text)
    people = msgspec.structs.replace(model, seats=(ADA, Occupant("b", "Bob")))
    assert isinstance(parse_line(text, people), SendChat) == ("@" in text)
    assert parse_line("hint", model) == RunCommand(CommandName.HINT)
    older = msgspec.structs.replace(model, chat_commands=())
    assert not isinstance(parse_line(text, older), SendChat)


def test_every_command_is_offered_with_a_server_that_sends_no_list() -> None:
    """A server of an earlier version does not say what the viewer may do, so nothing is marked."""
    model = msgspec.structs.replace(CONNECT_FOUR, may=None, turn=None)
    lines = help_text(model, "all").splitlines()
    marked = {line.split()[0] for line in lines if "(not now)" in line}
    assert marked == {"claim", "easier", "harder"}, "there is neither a claim nor an AI at a level"


OTHELLO_NEXT = NextGame("1", "othello", {}, (1, 0))


@pytest.mark.parametrize(
    ("argument", "command"),
    [
        ("othello", OTHELLO_NEXT),
        ("Othello swap", OTHELLO_NEXT),
        ("othello same level 3", NextGame("1", "othello", {}, (0, 1), 3)),
        ("connect four", NextGame("1", "connect-four", {}, (1, 0))),
        ("Nine men's morris", NextGame("1", "nine-mens-morris", {}, (1, 0))),
        ("sticks rows=1-3-5", NextGame("1", "sticks", {"rows": "1-3-5"}, (1, 0))),
        ("level 2", NextGame("1", "g", {}, (1, 0), 2)),
        ("same", NextGame("1", "g", {}, (0, 1))),
        ("othello clock 5+3", NextGame("1", "othello", {}, (1, 0), None, "300+3")),
        ("clock =600+3x30 same", NextGame("1", "g", {}, (0, 1), None, "600+3x30")),
        ("chess Clock - level 2", NextGame("1", "chess", {}, (1, 0), 2, "-")),
    ],
)
def test_the_next_game_is_named_in_words(argument: str, command: NextGame) -> None:
    """`next` takes a game, sides, a level and options; without a game it is the room's own."""
    model = room(CHESS, PAWN)
    assert next_command(CommandName.NEXT, argument, model, "1") == command


def test_a_next_game_with_a_wrong_clock_says_what_was_expected() -> None:
    for argument in ("othello clock", "othello clock 300+3", "othello clock five"):
        answer = next_command(CommandName.NEXT, argument, room(CHESS, PAWN), "1")
        assert isinstance(answer, str)
        assert "5" in answer


@pytest.mark.parametrize("argument", ["", "othello level 99", "x" * 80])
def test_a_next_game_without_a_sense_says_what_to_type(argument: str) -> None:
    assert next_command(CommandName.NEXT, argument, room(CHESS, PAWN), "1") == NEXT_USAGE


def test_easier_and_harder_change_the_level_of_the_ai() -> None:
    ai = Occupant("ai", "AI level 1", "ai", 1)
    alone = room(CHESS, PAWN)
    assert alone.description is not None
    levels = msgspec.structs.replace(alone.description, levels=2)
    model = msgspec.structs.replace(alone, seats=(ai, None), description=levels)
    harder = next_command(CommandName.HARDER, "", model, "1")
    assert harder == NextGame("1", "g", {}, (1, 0), 2)
    assert "has levels 1 to" in str(next_command(CommandName.EASIER, "", model, "1"))
    assert "no AI" in str(next_command(CommandName.EASIER, "", room(CHESS, PAWN), "1"))


def test_accept_answers_the_proposal_of_the_opponent_by_its_version() -> None:
    """It goes to the rematch where the opponent offers both."""
    proposal = Proposal(1, "next", v=9, game="othello", options={}, seats=(1, 0), title="Othello")
    seats = (Occupant("me", "Ada"), Occupant("bob", "Bob"))
    model = Model(room="r", me="me", seats=seats, next_offer=proposal)
    assert plain_command(CommandName.ACCEPT, model, "1") == Accept("1", "next", v=9)
    both = msgspec.structs.replace(model, offers=(1,))
    assert plain_command(CommandName.ACCEPT, both, "1") == Accept("1", "rematch")
    own = msgspec.structs.replace(model, next_offer=msgspec.structs.replace(proposal, seat=0))
    assert plain_command(CommandName.ACCEPT, own, "1") == Accept("1")


def test_an_answer_is_to_the_offer_of_the_opponent_or_to_the_one_it_names() -> None:
    """Beside the user's own draw the opponent's takeback is answered, and the other way round."""
    seats = (Occupant("me", "Ada"), Occupant("bob", "Bob"))
    model = Model(room="r", me="me", seats=seats, match=MATCH)
    asked = [Proposal(seat, "takeback", v=9) for seat in (0, 1)]
    own_draw = msgspec.structs.replace(model, offers=(0,), takebacks=(asked[1],))
    own_takeback = msgspec.structs.replace(model, offers=(1,), takebacks=(asked[0],))
    accept, decline = CommandName.ACCEPT, CommandName.DECLINE
    assert plain_command(accept, own_draw, "1") == Accept("1", "takeback", ply=0)
    assert plain_command(decline, own_draw, "1") == Decline("1", "takeback")
    assert plain_command(decline, own_draw, "1", "draw") == Decline("1", "draw")
    assert plain_command(accept, own_takeback, "1") == Accept("1", "draw")
    assert plain_command(decline, own_takeback, "1") == Decline("1", "draw")
    assert plain_command(decline, own_takeback, "1", "Takeback") == Decline("1", "takeback")


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("", None),
        ("   ", None),
        ("b", RunCommand(CommandName.BOARD)),
        ("m", RunCommand(CommandName.MOVES)),
        ("L", RunCommand(CommandName.LAST)),
        ("pieces c", RunCommand(CommandName.PIECES, "c")),
        ("?", RunCommand(CommandName.HELP)),
        ("q", RunCommand(CommandName.QUIT)),
        ("exit", RunCommand(CommandName.QUIT)),
        ("resign", RunCommand(CommandName.RESIGN)),
        ("Rematch", RunCommand(CommandName.REMATCH)),
        ("abort", RunCommand(CommandName.ABORT)),
        ("decline", RunCommand(CommandName.DECLINE)),
        ("t", RunCommand(CommandName.THINKING)),
        ("/hello", SendChat("hello")),
        ("/ e4", SendChat("e4")),
        ("chat e2e4 was it", SendChat("e2e4 was it")),
    ],
)
def test_a_line_is_a_command_or_chat(text: str, action: object) -> None:
    assert parse_line(text, room(CHESS, PAWN)) == action


def test_a_command_of_the_bot_needs_no_slash() -> None:
    """Moves and commands of line mode come first, and a sentence that begins alike is an error."""
    model = msgspec.structs.replace(room(CHESS, PAWN), chat_commands=("rules", "coach", "draw"))
    assert parse_line("rules", model) == SendChat("/rules")
    assert parse_line("Coach on", model) == SendChat("/Coach on")
    assert parse_line("draw", model) == RunCommand(CommandName.DRAW)
    assert isinstance(parse_line("rules are for fools", model), Unclear)
    assert isinstance(parse_line("rules", room(CHESS, PAWN)), Unclear)


@pytest.mark.parametrize("text", ["/", "chat", "chat  ", "resignx", "\x00", "e" * 5000])
def test_any_other_line_is_rejected_with_a_reason(text: str) -> None:
    assert isinstance(parse_line(text, room(CHESS, PAWN)), Unclear)
    assert isinstance(parse_line(text, Model(room="r")), Unclear)


# --- texts


def thinking(state: str = "searching", **more: object) -> Thinking:
    return Thinking(room="r", match="m", ply=0, seat=0, state=state, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0, "0"),
        (12, "+12"),
        (-3, "-3"),
        (29995, "win in 5"),
        (-29998, "loss in 2"),
        (20000, "+20000"),
    ],
)
def test_a_score_is_a_signed_number_or_the_distance_to_the_end(score: int, text: str) -> None:
    assert words.score_text(score) == text


def test_a_bound_is_put_before_the_score() -> None:
    assert words.score_text(7, "upper") == "at most +7"


@pytest.mark.parametrize(
    ("count", "text"),
    [(812, "812"), (4820, "4.82 k"), (48_200, "48.2 k"), (482_000, "482 k"), (3_100_000, "3.10 M")],
)
def test_a_count_has_three_digits(count: int, text: str) -> None:
    assert words.count_text(count) == text


def test_a_search_is_reported_in_one_line() -> None:
    line = words.thinking_text(
        "AI level 5", thinking(depth=9, score=12, nodes=48_200, pv=tuple("dcdcdcdcdc"))
    )
    assert line == "AI level 5: depth 9, +12, 48.2 k nodes, d c d c d c d c …"
    compiling = words.thinking_text("AI", thinking("warming", ready=42))
    assert compiling == "AI is getting ready, once per installation: [####......] 42 %"
    line = words.thinking_text(
        "AI", thinking(depth=2, score=1, nodes=60, pv=("d",), warming=True, ready=99)
    )
    assert (
        line
        == "AI: depth 2, +1, 60 nodes, d (getting ready, once per installation: [#########.] 99 %)"
    )
    assert words.thinking_text("AI", thinking("queued")) == "AI waits for its turn to think."
    lost = thinking("queued", ready=42, wait="waits: the last search was lost; next try in 2 s")
    assert words.thinking_text("AI", lost) == f"AI {lost.wait}."
    assert words.thinking_text("AI", thinking()) == "AI thinks."


def test_the_best_moves_are_followed_by_what_the_search_cut_off() -> None:
    """A search that counts nothing, or of a server of an earlier version, has the moves only."""
    best = Candidate(move="d", text="d2", says="44 %")
    assessment = Assessment(sentence="Red likes d2.", candidates=(best,))
    assert words.scores_text(thinking(assessment=assessment)) == "d2 44 %"
    counted = msgspec.structs.replace(assessment, work="3 branches cut off.")
    assert words.scores_text(thinking(assessment=counted)) == "d2 44 %. 3 branches cut off."


@pytest.mark.parametrize(
    ("over", "text"),
    [
        (MatchResult(0, "board", "four in a row"), "Red wins: four in a row."),
        (MatchResult(None, "board", "the board is full"), "Draw: the board is full."),
        (MatchResult(0, "board", "all is full", (3, 5)), "Red wins 3 to 5: all is full."),
        (MatchResult(1, "board", "all is full", (3, 5)), "Yellow wins 5 to 3: all is full."),
        (MatchResult(None, "board", "all is full", (4, 4)), "Draw 4 to 4: all is full."),
        (MatchResult(None, "board", "Asker got 50 cents", (50, 0)), "Draw: Asker got 50 cents."),
        (MatchResult(None, "abort", "the match was aborted"), "No result: the match was aborted."),
        (MatchResult(1, "resign", "Red resigned"), "Yellow wins: Red resigned."),
        (MatchResult(None, "failure", "the AI broke"), "No result: the AI broke."),
        (MatchResult(1, "flag", "Red ran out of time"), "Yellow wins: Red ran out of time."),
        (MatchResult(0, "board", "Red has joined both edges"), "Red wins: joined both edges."),
        (MatchResult(None, "verdict", "the arbiter ended it"), "Match over: the arbiter ended it."),
    ],
)
def test_a_result_names_the_winner_and_the_reason(over: MatchResult, text: str) -> None:
    """An unknown termination, of a newer server, is shown by its reason."""
    board = CONNECT_FOUR.description.view if CONNECT_FOUR.description else None
    assert words.result_text(board, over) == text


def test_who_watches_reads_the_result_with_the_names_of_the_players() -> None:
    """On one screen, and where both players have one name, the sides tell them apart; a player may
    have the name of the other side."""
    board = CONNECT_FOUR.description.view if CONNECT_FOUR.description else None
    names = ("Ann (Red)", "Ben (Yellow)")
    resigned = MatchResult(1, "resign", "Red resigned")
    assert words.result_text(board, resigned, None, names) == (
        "Ben (Yellow) wins: Ann (Red) resigned."
    )
    named = ("Yellow (Red)", "Ben (Yellow)")
    assert words.result_text(board, resigned, None, named) == (
        "Ben (Yellow) wins: Yellow (Red) resigned."
    )
    joined = MatchResult(0, "board", "Red has joined both edges")
    assert words.result_text(board, joined, None, names) == "Ann (Red) wins: joined both edges."


@pytest.mark.parametrize("how", get_args(Termination))
def test_every_end_of_this_version_is_known(how: str) -> None:
    """Without a winner it is a draw or no result; only a resignation always has a winner."""
    text = words.result_text(None, MatchResult(None, how, "it ended"))
    assert text.startswith("Match over" if how == "resign" else ("Draw", "No result")), text


def test_a_result_that_names_its_winner_is_one_sentence_for_each_player() -> None:
    """The winner's name is not said again; for the other player it stays in the reason."""
    board = CONNECT_FOUR.description.view if CONNECT_FOUR.description else None
    over = MatchResult(0, "board", "Red has joined both edges")
    assert words.result_text(board, over, 0) == "You won: joined both edges."
    assert words.result_text(board, over, 1) == "You lost: Red has joined both edges."


def test_a_move_is_printed_with_its_number_side_and_notation() -> None:
    assert words.move_line(None, 0, 1, Played("e2e4", "e4")) == "1. Second: e4"
    assert words.move_line(None, 8, 0, Played("pass", forced=True)) == "9. First: pass (forced)"


@pytest.mark.parametrize(
    "text",
    ["1. e4", "1.e4", "e4!", "e4 {good}", "♘f3", "♙ e5", "O\u2013O", "0 - 0", "exd", "ed!", "1)Nf3",
     "e4?!", "e4??", "\uff45\uff15", "b8 = Q"],
)  # fmt: skip
def test_what_looks_like_a_move_is_read_by_the_server(text: str) -> None:
    """A number, a figurine or a few letters may be a move; words are not."""
    assert parse_line(text, room(CHESS, PROMOTIONS[0])) == TryMove(text)
    for words_of_a_person in ("hello", "e4?", "1. e4?", "what a game", "x" * 90):
        assert isinstance(parse_line(words_of_a_person, room(CHESS, PROMOTIONS[0])), Unclear)


def test_what_may_be_another_move_is_read_by_the_server() -> None:
    """B2c3 may be a bishop of row 2, and 15 a cell: neither is played as b2c3 or 1-5 at once."""
    chess, draughts = load_game("chess"), load_game("draughts")
    pawn = MoveView("b2c3", ("b2", "c3"), "b2xc3")
    at_chess = room(chess.board({}), pawn)
    assert parse_line("b2-c3", at_chess) == parse_line("b2c3", at_chess) == PlayMove(pawn)
    for text in ("B2c3", "B2-C3"):
        assert parse_line(text, at_chess) == TryMove(text)
    man = MoveView("1-5", ("1", "5"), "1-5")
    at_draughts = room(draughts.board({}), man)
    assert parse_line("1 5", at_draughts) == PlayMove(man)
    assert parse_line("15", at_draughts) == TryMove("15")


@pytest.mark.parametrize("text", ["Nf3", "exd8=Q+", "O-O", "0-0-0", "e9", "12x19", "Bb5#"])
def test_text_that_may_be_notation_is_sent_to_the_server(text: str) -> None:
    assert parse_line(text, room(CHESS, PAWN)) == TryMove(text)
    assert isinstance(parse_line(text, room(CHESS)), Unclear), "only on the player's turn"


def test_a_slash_and_a_command_ask_the_bot() -> None:
    """A slash and a chat command of the server are sent with the slash, all other text without."""
    model = msgspec.structs.replace(CONNECT_FOUR, chat_commands=("why", "coach"))
    assert parse_line("/why", model) == SendChat("/why")
    assert parse_line("/Coach on", model) == SendChat("/Coach on")
    assert parse_line("/good luck", model) == SendChat("good luck")
    assert parse_line("/why", CONNECT_FOUR) == SendChat("why")
    assert parse_line("/why?", model) == parse_line("/ why", model) == SendChat("/why")
    assert parse_line("/coahc is a typo", model) == SendChat("coahc is a typo")
    assert parse_line("/hello", model) == SendChat("hello")
    for word, meant in (("coahc", "/coach"), ("resing", "resign"), ("resign?", "resign")):
        # A misspelt question is not told to the others, nor is it put where Enter would tell it.
        reason = f"There is no /{word}. Did you mean {meant}? To say it to the room: say {word}"
        assert parse_line(f"/{word}", model) == Unclear(reason, meant)
    for line in ("/say hello", "/ Chat  hello"):
        assert parse_line(line, model) == SendChat("hello")
    for line in ("/say", "/chat ", "/"):
        assert isinstance(parse_line(line, model), Unclear)


#: A line of the chat by Ben, whom a command may name.
BEN_SPOKE = ChatLine(v=1, at=0, identity="ben", name="Ben", text="hi")
#: What may follow each command that takes a text.
TEXTS = {
    CommandName.AI: ("3", "average", "off"), CommandName.NAME: ("Ada",),
    CommandName.NEXT: ("othello", "chess same level 3"), CommandName.PIECES: ("c",),
    CommandName.SIT: ("Yellow",),
    CommandName.MUTE: ("Ben",), CommandName.UNMUTE: ("Ben",), CommandName.MUTE_ALL: ("Ben",),
    CommandName.BAR: ("Ben",),
    CommandName.UNMUTE_ALL: ("Cyd",),
}  # fmt: skip


@pytest.mark.parametrize("name", CommandName)
def test_a_command_is_the_same_with_a_slash(name: CommandName) -> None:
    """What the client knows is done, never said to the room, with what may follow it too; the bot's
    commands ask the bot.
    """
    model = msgspec.structs.replace(
        CONNECT_FOUR, chat_commands=("hint",), chat=(BEN_SPOKE,), muted=(Player("cyd", "Cyd"),)
    )
    arguments = TEXTS.get(name, ARGUMENTS.get(name, ()))
    assert (name in WITH_TEXT) == (name in TEXTS)
    for line in (name.value, *(f"{name.value} {argument}" for argument in arguments)):
        slashed, asks_bot = parse_line(f"/{line}", model), name is CommandName.HINT
        assert slashed == (SendChat(f"/{line}") if asks_bot else parse_line(line, model))
        assert asks_bot or isinstance(slashed, RunCommand)
    assert asks_bot or parse_line(f"/{name.value}!", model) == RunCommand(name)


@pytest.mark.parametrize(
    "said",
    [
        "accept my apologies", "draw is all I hope for", "name of the game is chess",
        "resign is for losers", "quit smoking", "hint please", "mute your phone", "sit down",
        "ai is clever", "stand up", "unmute-all Ben", "pieces of eight", "next clock whenever",
    ],
)  # fmt: skip
def test_chat_that_begins_with_a_command_is_not_that_command(said: str) -> None:
    """Nor is it said: only `say` is sure. Without the slash what ends or gives something away is
    refused in the same way, because a pipe is asked nothing.
    """
    model = msgspec.structs.replace(CONNECT_FOUR, chat=(BEN_SPOKE,))
    slashed = parse_line(f"/{said}", model)
    assert isinstance(slashed, Unclear)
    assert slashed.instead == f"say {said}"
    assert slashed.reason.startswith(f"To say it to the room: say {said} (")
    if COMMANDS[said.split()[0]] in ROOM_COMMANDS:
        assert parse_line(said, model) == Unclear(slashed.reason), "it may have been meant"


def test_a_word_of_the_screen_is_its_key() -> None:
    """With or without a slash, unless a move has the name; a misspelt one is not told either."""
    keys = {"flip": "f", "share": "c"}
    for line in ("flip", "/flip", "/ Flip!"):
        assert parse_line(line, CONNECT_FOUR, keys) == PressKey("f")
    assert parse_line("/flip the table", CONNECT_FOUR, keys) == SendChat("flip the table")
    assert parse_line("/flipp", CONNECT_FOUR, keys) == Unclear(
        "There is no /flipp. Did you mean flip? To say it to the room: say flipp", "flip"
    )
    flip = MoveView("flip", ("a1",), "flip")
    assert parse_line("flip", room(CHESS, flip), keys) == PlayMove(flip)
    assert parse_line("/flip", CONNECT_FOUR) == SendChat("flip")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("undo", CommandName.TAKEBACK), ("Take back", CommandName.TAKEBACK),
        ("give up", CommandName.RESIGN), ("leave", CommandName.QUIT), ("/q", CommandName.QUIT),
        ("/quit!", CommandName.QUIT), ("/ leave", CommandName.QUIT),
        ("/Give up", CommandName.RESIGN), ("/?", CommandName.HELP),
    ],
)  # fmt: skip
def test_words_from_elsewhere(text: str, name: CommandName) -> None:
    """The bot would only tell of the command, and a move may have the word."""
    model = msgspec.structs.replace(CONNECT_FOUR, chat_commands=("takeback", "help"))
    assert parse_line(text, model) == RunCommand(name)
    undo = MoveView("undo", ("a1",), "undo")
    assert parse_line("undo", room(CHESS, undo)) == PlayMove(undo)


@pytest.mark.parametrize("text", ["hello", "gg", "Thank you", "well played!", "bye"])
def test_a_greeting_without_say_is_offered_as_chat(text: str) -> None:
    for model in (room(CHESS, PAWN), room(CHESS), Model(room="r")):
        assert parse_line(text, model) == Unclear(
            f"To say it to the room: say {text}", f"say {text}"
        )


def test_a_misspelt_command_is_named() -> None:
    for model in (room(CHESS, PAWN), room(CHESS)):
        unclear = parse_line("resing", model)
        assert isinstance(unclear, Unclear)
        assert "Did you mean resign?" in unclear.reason
        assert "Did you mean" not in str(parse_line("wxyzw", model))


def test_what_people_say_goes_to_the_chat() -> None:
    """`say`, `chat` and a question in words are chat; a move, a command and one word are not."""
    for line in ("say hello", "chat hello", "Say  hello"):
        assert parse_line(line, CONNECT_FOUR) == SendChat("hello")
    for line in ("what should I do?", "why?", "Draw now ?", "what's best?", "is d1 good?"):
        assert parse_line(line, CONNECT_FOUR) == SendChat(line)
    for line in ("say", "chat", "hello?", "e4?", "what should I do"):
        assert isinstance(parse_line(line, CONNECT_FOUR), Unclear), line
    assert parse_line("?", CONNECT_FOUR) == RunCommand(CommandName.HELP)


def test_pages_in_an_answer_have_the_address_of_the_server() -> None:
    """A path to a page becomes an address; other words with a slash stay as they are."""
    shown = words.with_addresses("See /glass?ply=0, not /help", parse_address("https://p.example"))
    assert shown == "See https://p.example/glass?ply=0, not /help"
