"""Names and lines of people within other text, kept from turning its order around.

The client of the browser does the same, in client/web/shell/isolation.js.
"""

import re

#: First strong isolate and pop directional isolate (UAX #9).
FSI, PDI = "\u2068", "\u2069"
#: The ranges of characters that are written from right to left, also those to come
#: (DerivedBidiClass.txt: the default classes R and AL).
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def isolated(text: str) -> str:
    """The text for a place in another one, isolated if it has characters from right to left.

    A text without any turns nothing around, as long as the others are isolated.
    """
    return f"{FSI}{text}{PDI}" if _RIGHT_TO_LEFT.search(text) else text
