"""The style check of a rules file: reports code that would behave differently when compiled, with
the line and the fix.

Rules are written in the subset of Python that means the same compiled and uncompiled
(docs/tutorial/add-a-game.md). The check reads the source; of the imported module it inspects only
the constants and the marks of the rules.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from engine import jit
from engine.rules.parts import modules_of, namespace_of
from engine.rules.rule_types import RuleTypes
from engine.rules.scope import HOOK_PARAMETERS

#: Constructs that a rule may not contain, with their names in messages.
REFUSED: Mapping[type[ast.AST], str] = {
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator",
    ast.Lambda: "a lambda",
    ast.FunctionDef: "an inner function",
    ast.AsyncFunctionDef: "an inner function",
    ast.ClassDef: "a class",
    ast.Try: "try",
    ast.With: "with",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.JoinedStr: "a string",
    ast.Delete: "del",
}
#: The fix for a construct in REFUSED or a string.
PLAIN_CODE_FIX = (
    "rules are loops and arithmetic on words and numbers: "
    "tables go into tuples or arrays beside the constants"
)


@dataclass(frozen=True, order=True)
class StyleFault:
    """A style fault: its line and file, what is wrong, and the fix."""

    line: int
    what: str
    fix: str
    file: str = ""


def style_faults(module: ModuleType) -> list[StyleFault]:
    """Returns the faults of a game's files: code that fails to compile or changes its meaning."""
    sources = {
        file.__name__: Path(str(file.__file__)).read_text("utf-8") for file in modules_of(module)
    }
    names = namespace_of(module)
    rules: dict[str, ast.FunctionDef] = {}
    for source in sources.values():
        rules.update(_rules_in(ast.parse(source), names))
    return [
        replace(fault, file=str(file.__file__))
        for file in modules_of(module)
        for fault in source_faults(sources[file.__name__], names, rules, frozenset(sources))
    ]


def source_faults(
    source: str,
    namespace: Mapping[str, Any],
    game_rules: Mapping[str, ast.FunctionDef] | None = None,
    files: frozenset[str] = frozenset(),
) -> list[StyleFault]:
    """Returns the faults of one source in the game's namespace.

    `game_rules` are the rules of all files of the game, by default those of this source; `files`
    are the names of the game's modules.
    """
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    rules = _rules_in(tree, namespace)
    faults: set[StyleFault] = set()

    def report(line: int, what: str, fix: str) -> None:
        faults.add(StyleFault(line, what, fix))

    for fault in (
        *_import_faults(tree, namespace, files),
        *_unmarked_hooks(functions, rules),
        *_recursion_faults(rules, namespace),
    ):
        faults.add(fault)
    for rule in rules.values():
        faults.update(
            _decorator_faults(rule, namespace),
            _construct_faults(rule),
            _constant_faults(rule, namespace),
        )
        RuleTypes(rule, namespace, game_rules or rules, report).check()
    return sorted(faults)


def _rules_in(tree: ast.Module, namespace: Mapping[str, Any]) -> dict[str, ast.FunctionDef]:
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and hasattr(namespace.get(node.name), jit.RULE)
    }


def _import_faults(
    tree: ast.Module, namespace: Mapping[str, Any], files: frozenset[str]
) -> Iterator[StyleFault]:
    """Yields a fault for each import of the compiler, and for each import from a file that is not
    in PARTS, so that the digest does not cover it.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        origin = node.module if isinstance(node, ast.ImportFrom) else None
        for alias in node.names:
            if (origin or alias.name).split(".")[0] == "numba":
                fix = "import rule, U and the bit helpers from engine.jit"
                yield StyleFault(node.lineno, "a server runs these rules without a compiler", fix)
            elif _is_foreign(origin, alias, namespace, files):
                what = f"the file of {alias.name}, {origin}, is not in this game's digest"
                yield StyleFault(
                    node.lineno, what, "write it into this file, or put that file into PARTS"
                )


def _is_foreign(
    origin: str | None, alias: ast.alias, namespace: Mapping[str, Any], files: frozenset[str]
) -> bool:
    """Tells whether an import brings a rule, or any name of the game's own folder, from a file that
    the digest does not cover.
    """
    if not origin or origin == "engine.jit" or origin in files or f"{origin}.{alias.name}" in files:
        return False
    own_folders = {name.rpartition(".")[0] for name in files} - {""}
    value = namespace.get(alias.asname or alias.name)
    return hasattr(value, jit.RULE) or any(
        f"{origin}.".startswith(f"{folder}.") for folder in own_folders
    )


def _unmarked_hooks(
    functions: Mapping[str, ast.FunctionDef], rules: Mapping[str, ast.FunctionDef]
) -> Iterator[StyleFault]:
    for name in HOOK_PARAMETERS:
        if name in functions and name not in rules:
            yield StyleFault(
                functions[name].lineno, f"the hook {name} is not marked", "write @rule above it"
            )


def _decorator_faults(rule: ast.FunctionDef, namespace: Mapping[str, Any]) -> Iterator[StyleFault]:
    for decorator in rule.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = (
            called.id
            if isinstance(called, ast.Name)
            else called.attr
            if isinstance(called, ast.Attribute)
            else ""
        )
        is_ours = namespace.get(name) is jit.rule or (
            isinstance(called, ast.Attribute) and name == "rule"
        )
        if not is_ours:
            what = f"{rule.name} has another decorator than @rule: {ast.unparse(decorator)}"
            yield StyleFault(decorator.lineno, what, "remove it: the engine compiles rules itself")


def _recursion_faults(
    rules: Mapping[str, ast.FunctionDef], namespace: Mapping[str, Any]
) -> Iterator[StyleFault]:
    """Yields a fault for each recursive rule without a signature.

    A recursive rule that was compiled for two signatures crashes when it is loaded from the cache.
    """
    calls = {
        name: {
            node.func.id
            for node in ast.walk(rule)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        for name, rule in rules.items()
    }
    for name, rule in rules.items():
        if name in reachable(name, calls) and not getattr(namespace[name], jit.RULE):
            fix = (
                '@rule("i8(state, i8)"): the result and the parameters, '
                "of i8, u8, b1, state, i8*, u8*"
            )
            yield StyleFault(
                rule.lineno,
                f"{name} calls itself and has no signature",
                f"give it one, such as {fix}",
            )


def reachable(name: str, calls: Mapping[str, set[str]]) -> set[str]:
    """Returns the functions that a function calls, directly and indirectly."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        for callee in calls.get(waiting.pop(), set()) - reached:
            reached.add(callee)
            waiting.append(callee)
    return reached


def _construct_faults(rule: ast.FunctionDef) -> Iterator[StyleFault]:
    """Yields a fault for each construct that compiled rules do not support."""
    is_documented = ast.get_docstring(rule, clean=False) is not None
    for statement in rule.body[1:] if is_documented else rule.body:
        for node in ast.walk(statement):
            line = getattr(node, "lineno", rule.lineno)
            is_target = isinstance(node, ast.List) and isinstance(node.ctx, ast.Store)
            if type(node) in REFUSED and not is_target:
                yield StyleFault(
                    line, f"{REFUSED[type(node)]} in the rule {rule.name}", PLAIN_CODE_FIX
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                yield StyleFault(line, f"a string in the rule {rule.name}", PLAIN_CODE_FIX)
            elif isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
                what = f"the float {node.value} in the rule {rule.name}"
                yield StyleFault(line, what, "count in hundredths, or another whole unit")


def _constant_faults(rule: ast.FunctionDef, namespace: Mapping[str, Any]) -> Iterator[StyleFault]:
    """Yields a fault for each use of a module value that can change after compilation or has the
    wrong type.
    """
    local = {
        node.id
        for node in ast.walk(rule)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    local |= {argument.arg for argument in rule.args.args}
    body = ast.Module(rule.body, [])
    for node in ast.walk(body):
        if not isinstance(node, ast.Name) or node.id in local:
            continue
        value = namespace.get(node.id)
        if isinstance(value, list | dict | set | bytearray):
            what = (
                f"{node.id} is a {type(value).__name__}, "
                "which compiled rules cannot read, or would read from an old copy"
            )
            yield StyleFault(node.lineno, what, "make it a tuple or a numpy array")
        elif _is_float(value):
            yield StyleFault(
                node.lineno, f"{node.id} is a float", "count in hundredths, or another whole unit"
            )
        elif isinstance(value, str):
            yield StyleFault(
                node.lineno, f"{node.id} is a string, in the rule {rule.name}", PLAIN_CODE_FIX
            )


def _is_float(value: object) -> bool:
    if isinstance(value, FunctionType | ModuleType | type):
        return False
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind in "fc")
    return isinstance(value, float | complex | np.inexact)
