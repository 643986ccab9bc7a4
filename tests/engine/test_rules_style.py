"""The style check finds misuse of compiled integers by line, with a fix; correct rules pass."""

import re
from types import ModuleType

import numpy as np
import pytest

from engine import jit
from engine.game import State
from engine.rules.registry import load_game, production_ids
from engine.rules.style import source_faults, style_faults

#: The head of a rules file.
HEAD = """
from typing import Any
import numpy as np
from numpy import uint64 as Word
from engine.game import State
from engine.jit import U, at, lsb, popcount, rule
from engine.jit import popcount as ones
WORDS = 2
ONE = U(1)
SEVEN = 7
WEIGHTS = (3, 5, 9)
LINES = (U(7), U(56))
MIXED = (U(7), 56)
TABLE = np.array([[1, 2], [3, 4]])
MASKS = np.array([1, 2], np.uint64)
NARROW = np.array([1, 2], np.uint8)
CHANGING = [1, 2]
HALF = 0.5
"""


def faults_in(
    code: str, name: str = "helper(s: State, m: int) -> int", below: str = ""
) -> list[tuple[int, str]]:
    """Returns the faults of a rule with this body, each as its line in the body and its message."""
    body = "".join(f"    {line}\n" for line in code.strip("\n").splitlines())
    source = f"{HEAD}@rule\ndef {name}:\n{body}"
    above = source.count("\n") - body.count("\n")
    source += below
    module = ModuleType("styled")
    exec(compile(source, "styled.py", "exec"), vars(module))
    return [
        (fault.line - above, f"{fault.what}; {fault.fix}")
        for fault in source_faults(source, vars(module))
    ]


#: Body of a rule, line of the fault, message.
WRONG = [
    ("return popcount(s[0] & 1)", 1, r"number 1 .* signed.*U\(\.\.\.\)"),
    ("x = s[0] | m\nreturn popcount(x)", 1, "number m .* signed"),
    ("x = s[0]\nx &= x - 1\nreturn 0", 2, "number 1 "),
    ("x = s[0]\nx *= SEVEN\nreturn 0", 2, "number SEVEN "),
    ("return popcount(LINES[0] ^ lsb(s[1]))", 1, "signed"),
    ("return popcount(s[0] % 3)", 1, "signed"),
    ("return popcount(s[0] & (s[1] > ONE))", 1, "signed"),
    ("for line in LINES:\n    if line & 3:\n        return 1\nreturn 0", 2, "number 3 "),
    ("return popcount(MASKS[m] + TABLE[0, m])", 1, "signed"),
    ("return popcount(MIXED[0] + MIXED[1])", 1, "signed"),
    ("a, b = s\nreturn popcount(a | 1)", 2, "signed"),
    ("return popcount(U(1 << m))", 1, r"ONE << U\(m\)"),
    ("return popcount(s[0] >> 64)", 1, "shift by 64"),
    ("return popcount(s[0] << U(70))", 1, "shift by 70"),
    (
        "r = 0\nif m:\n    r = s[0]\nreturn popcount(r)",
        1,
        r"r is a word \(line \d+\) or a number \(line \d+\).*U\(0\)",
    ),
    (
        "r = 0\nfor line in LINES:\n    r |= line\nreturn popcount(r)",
        3,
        r"start r with U\(0\) in line",
    ),
    ("r = 0\nfor line in LINES:\n    if r == 0:\n        r = line\nreturn 0", 1, "float"),
    ("x = s[0] if m else 0\nreturn popcount(x)", 1, "both arms"),
    ("return np.int64(min(s[0], 5))", 1, "float"),
    ("return m / 2", 1, "//"),
    ("return m ** 2", 1, "multiply"),
    ("return np.int64(m * 0.5)", 1, "float 0.5"),
    ("return np.int64(m * HALF)", 1, "HALF is a float"),
    ("return int(s[0]) + 1", 1, r"np\.int64"),
    ("return s[0]", 1, "where a number is declared"),
    ("return len([1, 2])", 1, "a list .*tuples or arrays"),
    ("return {1: 2}[m]", 1, "a dict"),
    ("return max(i for i in WEIGHTS)", 1, "a generator"),
    ("return max(1, lambda: 1)", 1, "a lambda"),
    ("try:\n    return 1\nfinally:\n    pass", 1, "try"),
    ("if m == 'x':\n    return 1\nreturn 0", 1, "a string"),
    ("import math\nreturn 0", 1, "an import"),
    ("return CHANGING[m]", 1, "CHANGING is a list.*tuple or a numpy array"),
    ("return sum(WEIGHTS)", 1, "calls sum"),
    ("return np.zeros(3)[0]", 1, r"calls np\.zeros"),
    ("return s[0].bit_count()", 1, r"calls s\[0\]\.bit_count"),
    ("return helper(s, m - 1)", 0, r"helper calls itself and has no signature.*@rule\(\"i8"),
]


@pytest.mark.parametrize(("code", "line", "message"), WRONG, ids=[code for code, _, _ in WRONG])
def test_a_fault_is_reported_with_its_line_and_fix(code: str, line: int, message: str) -> None:
    """A wrong line is one fault of that line, and the message says what to write instead."""
    faults = faults_in(code)
    assert [fault_line for fault_line, _ in faults] == [line]
    assert re.search(message, faults[0][1])


#: Bodies of correct rules.
RIGHT = [
    '"""A docstring is not a string."""\nreturn m + SEVEN * 3 - (m & 7)',
    "n = 0\nx = s[0]\nwhile x:\n    n += WEIGHTS[lsb(x) % 3]\n    x &= x - ONE\nreturn n",
    "r = U(0)\nfor line in LINES:\n    if s[0] & line == line:\n"
    "        r |= line\nreturn popcount(r)",
    "n = s[0]\nn = popcount(n)\nreturn n + 1",
    "total = 0\nfor i in range(SEVEN):\n    t = s[0] >> U(i)\n    t = popcount(t)\n"
    "    total += t\nreturn total",
    "return np.int64(s[0] >> U(4 * m)) + 1",
    "return popcount(s[0] << m) + ones(s[1] >> 3)",
    "return TABLE[m & 1][0] + TABLE[0, 1] + NARROW[m]",
    "return popcount(s[0] & Word(m))",
    "return popcount(-s[0] & s[0]) + popcount(~s[1])",
    "n = 0\nn += s[0] > s[1]\nreturn n",
    "for i, line in enumerate(LINES):\n    if s[0] == line:\n        return i + 1\nreturn 0",
    "for line, weight in zip(LINES, WEIGHTS):\n    if s[0] & line:\n        m += weight\nreturn m",
    "x = s[0]\nif x == 0 or not x:\n    return -1\nreturn m << 6 | lsb(x)",
    "return (m >> 6) // 2 % 3 + (m * m) + abs(m) + max(m, 3)",
    "while True:\n    m += 1\n    if m > 9:\n        break\nreturn m",
    "a = b = 0\n[a, b] = (m, 1)\nreturn a + b",
]


@pytest.mark.parametrize("code", RIGHT)
def test_correct_rules_pass(code: str) -> None:
    """Counters, squares, casts and reused names with clear types pass."""
    assert faults_in(code) == []


def test_hooks_have_the_types_of_their_contract() -> None:
    """The parameters and the result of a hook have their types even without annotations."""
    assert faults_in("return s[0] ^ U(3)", "key(s)") == []
    assert faults_in("return 3", "key(s)")[0][1].startswith(
        "key returns a number (3) where a word is declared"
    )
    assert faults_in("return s[0]", "evaluate(s, data)")[0][1].endswith(
        "write np.int64(...) around it"
    )
    assert faults_in("return (s[0], 0)", "play(s, m)")[0][1].startswith("play returns a number (0)")
    assert "1 items where 2" in faults_in("return (s[0],)", "play(s, m)")[0][1]
    assert faults_in("return (*s[:1], s[1])", "play(s, m)") == []
    assert faults_in("return data[lsb(s[0])] * 2 + at(data, 3)[1]", "evaluate(s, data)") == []
    assert faults_in("return popcount(s[0] & data[0])", "evaluate(s, data)") != []


def test_calls_between_rules_keep_their_types() -> None:
    """A call with a number for a word, or a word for a number, is reported."""
    other = "\n\n@rule\ndef other(p: np.uint64, n: int) -> np.uint64:\n    return p << U(n)"
    assert faults_in("return popcount(other(s[0], m))", below=other) == []
    assert "other takes a word as p" in faults_in("return popcount(other(m, m))", below=other)[0][1]
    assert (
        "other takes a number as n"
        in faults_in("return popcount(other(s[0], s[1]))", below=other)[0][1]
    )
    assert "signed" in faults_in("return popcount(other(s[0], m) | 1)", below=other)[0][1]


def test_mutual_recursion_needs_signatures() -> None:
    """Rules that call each other in a cycle are all reported; with signatures they pass."""
    module = ModuleType("styled")
    source = (
        "from engine.jit import rule\n"
        "{0}\ndef odd(n: int) -> int:\n    return 0 if n == 0 else even(n - 1)\n"
        "{0}\ndef even(n: int) -> int:\n    return 1 if n == 0 else odd(n - 1)\n"
    )
    for mark, expected in (("@rule", [3, 6]), ('@rule("i8(i8)")', [])):
        text = source.format(mark)
        exec(text, vars(module))
        assert [fault.line for fault in source_faults(text, vars(module))] == expected


def test_faults_outside_the_rules() -> None:
    """An unmarked hook, another decorator, numba, and a rule of another file are faults."""

    def borrowed(s: State) -> int:
        return 0

    borrowed = jit.rule(borrowed)
    namespace = {"borrowed": borrowed, "rule": jit.rule, "np": np}
    source = (
        "import numba\nfrom numba import njit\nfrom other import borrowed\n"
        "def status(s):\n    return 0\n"
        "@njit\n@rule\ndef moves(s, buf):\n    return 0\n"
    )
    marked = jit.rule(lambda s, buf: 0)
    faults = source_faults(source, {**namespace, "status": lambda s: 0, "moves": marked})
    assert [(fault.line, fault.what.split()[0]) for fault in faults] == [
        (1, "a"),
        (2, "a"),
        (3, "the"),
        (4, "the"),
        (6, "moves"),
    ]


@pytest.mark.parametrize("game_id", production_ids())
def test_every_game_passes(game_id: str) -> None:
    """No registered game has a fault of style."""
    module = load_game(game_id).module
    assert isinstance(module, ModuleType)
    assert style_faults(module) == []
