"""Explicit trees as text: max(A: min(3, 12), B: min~5(2, 4)).

A # begins a comment; spaces and line breaks have no meaning. The grammar:

node    = kind ["~" value] [pieces] "(" branch ("," branch)* ")"        ~ precedes an estimate
        | [value] ["~" value] [pieces]                                  a leaf: at least one part
branch  = [name ":"] node
kind    = max | min | mean | p1 … p8
number  = 12 | -0.5 | 1e-3 | inf | -inf
value   = number | "<" number ("," number)+ ">"         one utility, or one for each player
pieces  = "[" names "|" names "]"                       MAX's, MIN's: [king bishop*2 | king queen]
"""

import math
import re
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
TOKEN = re.compile(r"\s+|#[^\n]*|(?P<word>[^\s,:()\[\]<>|~#*]+)|(?P<mark>[,:()\[\]<>|~*])")
#: A utility or an estimate, before its limit is checked; inf is infinite.
NUMBER = re.compile(r"[+-]?\d{1,10}(\.\d{1,20})?(e[+-]?\d{1,3})?|[+-]?inf")
#: Who chooses at a node.
KIND = re.compile(r"max|min|mean|p[1-8]")


def parse_tree(text: str, title: str = "") -> Tree:
    """Parses a tree; raises TreeError with the line and column of a syntax error."""
    if len(text) > MAX_TREE_TEXT:
        raise TreeError(f"a tree has at most {MAX_TREE_TEXT} characters")
    parser = Parser(text)
    root = parser.node("", 0)
    if parser.peek():
        parser.fail("the end of the text")
    return check_tree(Tree(root, title[:80]))


def format_tree(tree: Tree) -> str:
    """Returns the tree as one line of text that `parse_tree` reads back."""
    return format_node(tree.root)


class Parser:
    """A recursive descent parser: the tokens of a text, and the index of the next one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        for match in TOKEN.finditer(text):
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

    def node(self, move: str, level: int) -> Node:
        if level > MAX_LEVELS:
            self.fail(f"at most {MAX_LEVELS} levels")
        word = self.peek()
        if not KIND.fullmatch(word):
            return self.leaf(move)
        self.index += 1
        estimate = self.value() if self.take_if_next("~") else None
        pieces = self.pieces() if self.peek() == "[" else None
        self.take("(")
        children = [self.branch(level + 1)]
        while self.take_if_next(","):
            children.append(self.branch(level + 1))
        self.take(")")
        return Node(word, tuple(children), move, None, estimate, pieces)

    def branch(self, level: int) -> Node:
        if self.peek(1) != ":":
            return self.node("", level)
        move = self.peek()
        if not is_name(move):
            self.fail("a name of 1 to 24 characters")
        self.index += 2
        return self.node(move, level)

    def leaf(self, move: str) -> Node:
        utility = None if self.peek() in ("~", "[") else self.value()
        estimate = self.value() if self.take_if_next("~") else None
        pieces = self.pieces() if self.peek() == "[" else None
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
        word = self.peek()
        if not NUMBER.fullmatch(word):
            self.fail("a number, or max, min, mean, p1 … p8 with children")
        number = float(word)
        if MAX_NUMBER < abs(number) < math.inf:
            self.fail(f"a number up to {MAX_NUMBER}")
        self.index += 1
        return int(word) if word.lstrip("+-").isdigit() else number

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
