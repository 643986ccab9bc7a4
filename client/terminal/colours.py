"""The colours of sides on a terminal, readable on light and on dark backgrounds.

This module does no I/O.
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
