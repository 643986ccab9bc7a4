"""The answers to the commands that only show a part of the room. This module does no I/O."""

from client.model import Model
from client.terminal import words
from client.terminal.board import DrawnBoard, draw_board, pieces_text
from client.terminal.commands import CommandName, help_text, no_moves_reason, sorted_ids


def draw_current_board(model: Model, colours: int, has_figures: bool = False) -> DrawnBoard | str:
    """The current board, seen from the viewer's side; a sentence if there is none."""
    board = words.board_of(model)
    if board is None or model.view is None:
        return "There is no board yet."
    flip = board.board.flips and model.my_seat == 1
    over = model.match.over if model.match is not None else None
    state = words.position_text(board, model.view) if over is None else words.result_of(model, over)
    return draw_board(board, model.view, colours, flip, state, has_figures)


def answer_query(
    model: Model, name: CommandName, argument: str, colours: int, has_figures: bool = False
) -> DrawnBoard | str:
    """The output of a command that only shows a part of the room."""
    board = words.board_of(model)
    match name:
        case CommandName.BOARD:
            return draw_current_board(model, colours, has_figures)
        case CommandName.PIECES if board is not None and model.view is not None:
            return pieces_text(board, model.view, argument)
        case CommandName.MOVES:
            return (
                "Moves: " + ", ".join(sorted_ids(model.moves))
                if model.moves
                else no_moves_reason(model)
            )
        case CommandName.LAST if model.match is not None and model.ply:
            ply, played = model.ply - 1, model.match.moves[-1]
            return words.move_line(board, ply, words.seat_of(played, ply), played, model.view)
        case CommandName.LAST:
            return "No move yet."
        case CommandName.THINKING if model.thinking is not None and model.thinking.moves:
            return f"{words.thinker(model, model.thinking)}: {words.scores_text(model.thinking)}"
        case CommandName.THINKING if model.thinking is not None and model.thinking.withheld:
            return model.thinking.withheld
        case CommandName.THINKING if not model.permits("see_thinking"):
            return "This room does not show you what the AI thinks during the match."
        case CommandName.THINKING:
            return "The AI has reported no scores."
        case CommandName.HELP:
            return help_text(model, argument)
        case _:
            return "There is no board yet."
