"""The colours of sides, squares and boards on a terminal, readable on light and dark backgrounds.

This module does no I/O. Names such as `color(160)` are those of rich.
"""

from collections.abc import Mapping

from engine.view import BoardView

#: The numbers of colours that this module knows: none, the terminal's own, and the fixed palette.
NO_COLOURS, ANSI_COLOURS, FIXED_COLOURS = 0, 8, 256
#: The terminal's own colour for text.
DEFAULT = "39"
#: The codes for each hue, by the bits of its red, green and blue parts, each with a contrast of at
#: least 3 with black and with white: in the terminal's own colours, of which only red and magenta
#: have it in xterm's palette, and in the fixed palette.
HUES: Mapping[int, tuple[str, str]] = {
    0b001: ("31", "38;5;160"),  # red
    0b010: (DEFAULT, "38;5;28"),  # green
    0b011: (DEFAULT, "38;5;136"),  # yellow
    0b100: ("35", "38;5;63"),  # blue
    0b101: ("35", "38;5;133"),  # magenta
    0b110: ("35", "38;5;31"),  # cyan
}
#: The hue of a dark side, such as Black: no grey differs from the text on every background.
DARK = 0b101
#: The largest difference between the parts of a grey, of 255.
MAX_GREY_CHROMA = 40
#: The codes of light and dark squares in line mode, in the fixed palette, with black figures as in
#: print.
SQUARE_CODES = ("\x1b[38;5;16;48;5;230m", "\x1b[38;5;16;48;5;180m")
#: The grounds of the light and dark cells of a board in the full screen, in the fixed palette. The
#: pieces have a contrast of at least 3 on each, and text one of at least 4.5.
GROUNDS: Mapping[str, tuple[str, str]] = {
    "checker": ("color(137)", "color(94)"),
    "points": ("color(137)", "color(137)"),
    "felt": ("color(29)", "color(29)"),
    "holes": ("color(18)", "color(18)"),
}
#: The grounds of cells in special states: for white and black pieces, and for bright ones on the
#: dark ground of holes.
STATE_GROUNDS = {
    "last": "color(100)",
    "target": "color(64)",
    "win": "color(65)",
    "check": "color(167)",
    "picked": "color(31)",
    "cursor": "color(221)",
}
HOLE_STATE_GROUNDS = {
    "last": "color(239)",
    "target": "color(20)",
    "win": "color(22)",
    "check": "color(88)",
    "picked": "color(53)",
    "cursor": "color(221)",
}
#: The colours of the lines and the empty holes of a board on its ground.
POINT_INK, HOLE_INK = "color(236)", "color(110)"


def colour_code(hex_colour: str, colours: int) -> str:
    """The parameters of the terminal's code for #rrggbb: the nearest hue.

    A light grey is the colour of text, a dark grey magenta, an invalid colour the colour of text.
    """
    hue = _hue(hex_colour)
    return DEFAULT if hue is None else HUES[hue][colours == FIXED_COLOURS]


def is_dark(hex_colour: str) -> bool | None:
    """Whether a grey is dark; None for any other colour."""
    try:
        parts = bytes.fromhex(hex_colour.removeprefix("#"))
    except ValueError:
        return None
    if len(parts) != 3 or max(parts) - min(parts) > MAX_GREY_CHROMA:
        return None
    return max(parts) + min(parts) < 256


def _hue(hex_colour: str) -> int | None:
    """The bits of the hue of a colour; None for the colour of text."""
    try:
        red, green, blue = bytes.fromhex(hex_colour.removeprefix("#"))
    except ValueError:
        return None
    lightest, darkest = max(red, green, blue), min(red, green, blue)
    middle = (lightest + darkest) / 2
    if lightest - darkest <= MAX_GREY_CHROMA:
        return DARK if middle < 128 else None
    return (red > middle) | (green > middle) << 1 | (blue > middle) << 2


def side_codes(board: BoardView, colours: int) -> list[str]:
    """The parameters of each side's code; two sides have different ones."""
    codes: list[str] = []
    for seat in board.seats:
        code = colour_code(seat.colour, colours)
        if code in codes:
            code = DEFAULT if DEFAULT not in codes else HUES[DARK][colours == FIXED_COLOURS]
        codes.append(code)
    return codes
