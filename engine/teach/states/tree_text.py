"""Explicit trees as text: max(A: min(3, 12), B: min~5(2, 4)).

A # begins a comment; spaces and line breaks have no meaning. The grammar:

node    = kind ["~" value] [pieces] "(" branch ("," branch)* ")"        ~ precedes an estimate
        | [value] ["~" value] [pieces]                                  a leaf: at least one part
branch  = [name ":"] node
kind    = max | min | mean | p1 … p8
number  = 12 | -0.5 | 1e-3 | inf | -inf
value   = number | "<" number ("," number)+ ">"         one utility, or one for each player
pieces  = "[" names "|" names "]"                       MAX's, MIN's: [king bishop*2 | king queen]

It also reads trees as textbooks and programs write them: nested lists, whose root is MAX and whose
levels take turns, in any brackets, with commas or spaces ([[3, 12, 8], [2, 4, 6], [14, 5, 2]],
((3 5) (2 9)), max{{3, 12}, {2, 4}}); MAX, Min and CHANCE; minus signs and dashes of
any form, and ∞; a comma before a closing bracket; a byte order mark.
"""

import math
import re
import unicodedata
from typing import NoReturn

from engine.teach.errors import TreeError
from engine.teach.states.tree import (
    MAX_LEVELS,
    MAX_NUMBER,
    MAX_TREE_TEXT,
    Node,
    Pieces,
    Sides,
    Single,
    Tree,
    Utility,
    check_tree,
    is_name,
)

#: White space, a comment, a word or a mark.
TOKEN = re.compile(r"\A\ufeff|\s+|#[^\n]*|(?P<word>[^\s,:()\[\]<>|~#*]+)|(?P<mark>[,:()\[\]<>|~*])")
#: The start of a tree whose brackets are braces, which the names of other trees may contain.
BRACED = re.compile(r"\ufeff?(?:\s|#[^\n]*\n)*(?:[^\W\d_]+[1-8]?\s*)?\{")
#: TOKEN of a text with braces.
BRACED_TOKEN = re.compile(
    r"\A\ufeff|\s+|#[^\n]*|(?P<word>[^\s,:()\[\]{}<>|~#*]+)|(?P<mark>[,:()\[\]{}<>|~*])"
)
#: The start of a tree as JSON.
JSON = re.compile(r'\ufeff?\s*\{\s*["}]')
#: A utility or an estimate, before its limit is checked; inf is infinite.
NUMBER = re.compile(r"[+-]?(\d{1,10}(\.\d{0,20})?|\.\d{1,20})(e[+-]?\d{1,3})?|[+-]?inf")
#: Minus signs and dashes, and infinity, as numbers contain them.
NUMBER_SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | {"∞": "inf"}
)
#: Who chooses at a node.
KIND = re.compile(r"max|min|mean|p[1-8]")
#: Other words for chance.
CHANCE = ("chance", "average", "avg", "exp")
#: Brackets around the children of a node or around a list, each with its closing one.
CLOSING = {"(": ")", "[": "]", "{": "}"}
#: Who chooses at a list that is a child of a node of this kind.
NEXT_KIND = {"max": "min", "min": "max"}


def parse_tree(text: str, title: str = "") -> Tree:
    """Parses a tree; raises TreeError with the line and column of a syntax error."""
    if len(text) > MAX_TREE_TEXT:
        raise TreeError(f"a tree has at most {MAX_TREE_TEXT} characters")
    parser = Parser(text)
    root = parser.node("", 0)
    if parser.peek():
        parser.fail("the end of the text")
    return check_tree(Tree(root, title[:80]))


def is_list_text(text: str) -> bool:
    """Returns whether the root of a tree is a list, without the word for who chooses there."""
    return not is_json_text(text) and Parser(text[:4096]).is_list()


def is_json_text(text: str) -> bool:
    """Returns whether a text begins as an object of JSON does, not as a list in braces."""
    return bool(JSON.match(text))


def plain_number(word: str) -> str:
    """Returns a number of the text in the form of NUMBER; any other word only in small letters."""
    plain = unicodedata.normalize("NFKC", word).translate(NUMBER_SIGNS).casefold()
    return plain.replace("infinity", "inf")


def format_tree(tree: Tree) -> str:
    """Returns the tree as one line of text that `parse_tree` reads back."""
    return format_node(tree.root)


class Parser:
    """A recursive descent parser: the tokens of a text, and the index of the next one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        token = BRACED_TOKEN if BRACED.match(text) else TOKEN
        for match in token.finditer(text):
            if match.lastgroup:
                self.tokens.append((match[0], match.start()))
        self.index = 0

    def peek(self, ahead: int = 0) -> str:
        """Returns a coming token without consuming it; empty at the end."""
        return self.tokens[self.index + ahead][0] if self.index + ahead < len(self.tokens) else ""

    def take(self, expected: str) -> None:
        """Consumes the expected token; fails at any other."""
        if self.peek() != expected:
            self.fail(repr(expected))
        self.index += 1

    def take_if_next(self, mark: str) -> bool:
        """Consumes the mark if it is the next token; returns whether it was."""
        is_next = self.peek() == mark
        self.index += is_next
        return is_next

    def fail(self, expected: str) -> NoReturn:
        """Raises TreeError with the line and column of the next token, and what it should be."""
        token = repr(self.peek()[:24]) if self.peek() else "the end"
        self.fail_at(self.index, f"{expected} was expected, not {token}")

    def fail_at(self, index: int, problem: str) -> NoReturn:
        """Raises TreeError with the line and column of a token."""
        offset = self.tokens[index][1] if index < len(self.tokens) else len(self.text)
        line = self.text.count("\n", 0, offset) + 1
        column = offset - self.text.rfind("\n", 0, offset)
        raise TreeError(problem, line, column)

    def kind(self) -> str:
        """The kind of a node, if the next token says one: in any case before a bracket or "~", so
        that a state of a graph may have the name Max. Empty otherwise.
        """
        word = self.peek()
        if KIND.fullmatch(word):
            return word
        if self.peek(1) != "~" and self.peek(1) not in CLOSING:
            return ""
        folded = word.casefold()
        return folded if KIND.fullmatch(folded) else "mean" if folded in CHANCE else ""

    def is_list(self) -> bool:
        """Whether the next token opens a list, not the pieces of a leaf."""
        return self.peek() in CLOSING and not self.has_pieces()

    def node(self, move: str, level: int, list_kind: str = "max") -> Node:
        """Parses a node; `list_kind` chooses where it is a list."""
        if level > MAX_LEVELS:
            self.fail_at(self.index, f"a tree has at most {MAX_LEVELS} levels")
        kind = self.kind()
        if kind:
            self.index += 1
            estimate = self.value() if self.take_if_next("~") else None
            pieces = self.pieces() if self.has_pieces() else None
            children = self.branches(kind, level, needs_commas=self.peek() == "(")
            return Node(kind, children, move, None, estimate, pieces)
        if self.is_list():
            if not list_kind:
                self.fail("max, min, mean or p1 … p8 before the list")
            return Node(list_kind, self.branches(list_kind, level), move)
        return self.leaf(move)

    def branches(self, kind: str, level: int, *, needs_commas: bool = False) -> tuple[Node, ...]:
        """Parses the children of a node in their brackets; in a list spaces may divide them."""
        closing = CLOSING.get(self.peek(), "")
        if not closing:
            self.fail("'('")
        self.index += 1
        next_kind = NEXT_KIND.get(kind, "")
        children = [self.branch(level + 1, next_kind)]
        while self.peek() != closing:
            is_end = needs_commas or self.peek() in ("", *CLOSING.values())
            if not self.take_if_next(",") and is_end:
                self.fail(repr(closing))
            if self.peek() != closing:
                children.append(self.branch(level + 1, next_kind))
        self.take(closing)
        return tuple(children)

    def branch(self, level: int, list_kind: str) -> Node:
        if self.peek(1) != ":":
            return self.node("", level, list_kind)
        move = self.peek()
        if not is_name(move):
            self.fail("a name of 1 to 24 characters")
        self.index += 2
        return self.node(move, level, list_kind)

    def leaf(self, move: str) -> Node:
        utility = None if self.peek() in ("~", "[") else self.value()
        estimate = self.value() if self.take_if_next("~") else None
        pieces = self.pieces() if self.has_pieces() else None
        return Node(None, (), move, utility, estimate, pieces)

    def value(self) -> Utility:
        if not self.take_if_next("<"):
            return self.number()
        numbers = [self.number()]
        while self.take_if_next(","):
            numbers.append(self.number())
        self.take(">")
        if not 2 <= len(numbers) <= 8:
            self.index -= 1
            self.fail("two to eight utilities")
        return tuple(numbers)

    def number(self) -> Single:
        word = plain_number(self.peek())
        if not NUMBER.fullmatch(word):
            self.fail("a number, or max, min, mean, p1 … p8 with children")
        number = float(word)
        if MAX_NUMBER < abs(number) < math.inf:
            self.fail(f"a number up to {MAX_NUMBER}")
        self.index += 1
        return int(word) if word.lstrip("+-").isdigit() else number

    def has_pieces(self) -> bool:
        """Whether the next token opens a list of pieces: a "|" comes before any other bracket."""
        if self.peek() != "[":
            return False
        ahead = 1
        while self.peek(ahead) not in ("", "|", ")", "]", *CLOSING):
            ahead += 1
        return self.peek(ahead) == "|"

    def pieces(self) -> Sides:
        self.take("[")
        ours = self.names("|")
        self.take("|")
        theirs = self.names("]")
        self.take("]")
        return ours, theirs

    def names(self, end: str) -> Pieces:
        counts: Pieces = {}
        while self.peek() != end:
            name = self.peek()
            if not is_name(name):
                self.fail(f"the name of a piece or {end!r}")
            self.index += 1
            counts[name] = counts.get(name, 0) + (self.count() if self.take_if_next("*") else 1)
            if counts[name] > 100:
                self.fail("at most 100 pieces of a name")
        return counts

    def count(self) -> int:
        word = self.peek()
        if not re.fullmatch(r"[1-9]\d{0,2}", word):
            self.fail("a number of pieces")
        self.index += 1
        return int(word)


def format_node(node: Node) -> str:
    """Returns a node as text."""
    estimate = "" if node.estimate is None else f"~{format_value(node.estimate)}"
    pieces = (
        ""
        if node.pieces is None
        else f"[{_format_names(node.pieces[0])}|{_format_names(node.pieces[1])}]"
    )
    if node.kind is None:
        return ("" if node.utility is None else format_value(node.utility)) + estimate + pieces
    named = (
        f"{child.move}: {format_node(child)}" if child.move else format_node(child)
        for child in node.branches()
    )
    return f"{node.kind}{estimate}{pieces}({', '.join(named)})"


def format_value(value: Utility) -> str:
    """Returns a utility or an estimate as text."""
    if isinstance(value, tuple):
        return f"<{', '.join(map(str, value))}>"
    return str(value)


def _format_names(side: Pieces) -> str:
    return " ".join(name if count == 1 else f"{name}*{count}" for name, count in side.items())
