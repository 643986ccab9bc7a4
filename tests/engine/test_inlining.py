"""Inlined functions: their calls become the code that one would write by hand."""

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from engine.compiler.inlining import INLINE, template_functions
from engine.search import kernel, movepick, reference, steps

#: The accessors of a planted template.
HEAD = """
from engine.compiler.inlining import inline
BASE = 3
@inline
def word(W, ply):
    "The word of a ply."
    return W[BASE + ply]
@inline
def set_word(W, ply, value):
    W[BASE + ply] = value
@inline
def twice(x):
    return x + x
@inline
def pair(W, ply):
    return twice(ply) + word(W, ply + 1)
"""

#: A function that returns a template with this source after HEAD.
Plant = Callable[[str], ModuleType]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Returns a function that makes a template from HEAD and more source."""

    def plant(source: str) -> ModuleType:
        path = tmp_path / "planted_template.py"
        path.write_text(HEAD + source)
        module = ModuleType("planted_template")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(path.read_text(), str(path), "exec"), vars(module))
        return module

    return plant


def instructions(function: FunctionType) -> tuple[object, ...]:
    code = function.__code__
    return code.co_code, code.co_consts, code.co_names, code.co_varnames


def test_a_call_becomes_the_code_written_by_hand(planted: Plant) -> None:
    """The code is that of a function without accessors, at the same lines."""
    template = planted(
        """
def search(W, ply):
    set_word(W, ply - 1, word(W, ply) + 2)
    return pair(W, ply) if word(W, 0) else 0
def by_hand(W, ply):
    W[BASE + (ply - 1)] = W[BASE + ply] + 2
    return ply + ply + W[BASE + (ply + 1)] if W[BASE + 0] else 0
"""
    )
    functions = template_functions(template)
    assert functions.keys() == {"search", "by_hand"}
    assert instructions(functions["search"]) == instructions(functions["by_hand"])
    lines = [line for _, _, line in functions["search"].__code__.co_lines() if line is not None]
    begin = functions["search"].__code__.co_firstlineno
    assert {*lines} == {begin, begin + 1, begin + 2}
    memory = [0, 0, 0, 1, 2, 3, 4]
    assert functions["search"](memory, 2) == 2 + 2 + 4
    assert memory == [0, 0, 0, 1, 5, 3, 4]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def search(x):\n    return twice(x + 1)\n", "x of twice must be a plain name"),
        ("def search(W, BASE):\n    return word(W, BASE)\n", "word means the global BASE"),
        ("def search(W):\n    return word(W)\n", "word takes W, ply"),
        ("def search(W):\n    return set_word(W, 1, 2)\n", "set_word returns nothing"),
        (
            "@inline\ndef long(x):\n    x += 1\n    return x\ndef search(x):\n    return long(x)\n",
            "its body must be one statement",
        ),
    ],
)
def test_a_call_that_would_change_its_meaning_is_refused(
    planted: Plant, source: str, message: str
) -> None:
    """An argument evaluated twice, a hidden global, or another body raise a TypeError."""
    with pytest.raises(TypeError, match=message):
        template_functions(planted(source))


def test_no_accessor_is_left_in_the_search() -> None:
    """No function of the kernel calls an inlined function once its calls are replaced."""
    parts = (*kernel.PARTS, kernel)
    inlined = {name for part in parts for name, f in vars(part).items() if hasattr(f, INLINE)}
    assert {"static_eval", "entry_depth", "table_key", "is_quiet"} <= inlined
    for name, function in template_functions(kernel).items():
        assert not inlined & {*function.__code__.co_names}, name


def choices_of(index: ast.expr) -> list[str]:
    """The indexes that an expression chooses from: itself, or both sides of `a if b else c`."""
    return list(
        map(ast.unparse, [index.body, index.orelse] if isinstance(index, ast.IfExp) else [index])
    )


@pytest.mark.parametrize("module", [kernel, movepick, steps, reference])
def test_memory_is_read_through_accessors(module: ModuleType) -> None:
    """The search indexes W and T by plain names, and unpacks entries and sort keys by accessors."""
    accessors = {name for name, f in vars(module).items() if hasattr(f, INLINE)}
    functions = [
        node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.FunctionDef) and node.name not in accessors
    ]
    assert functions
    for node in (node for function in functions for node in ast.walk(function)):
        match node:
            case ast.Subscript(value=ast.Name(id="W" | "T"), slice=index):
                assert all(map(str.isidentifier, choices_of(index))), ast.unparse(node)
            case ast.BinOp(left=ast.Name(id="entry" | "sort_key")):
                pytest.fail(ast.unparse(node))
