"""The names in a rule: its local names, and the module's names with their values and types."""

import ast
import builtins
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from engine import jit
from engine.game import State
from engine.rules.types import (
    BOOL,
    INT,
    UNKNOWN,
    WORD,
    TupleType,
    Type,
    common_type,
    named_type,
    state_type,
)

#: The parameters of each hook.
HOOK_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "status": ("state",),
    "moves": ("state", "i8*"),
    "play": ("state", "i8"),
    "no_moves_result": ("state",),
    "key": ("state",),
    "evaluate": ("state", "i8*"),
    "drawn": ("state",),
    "repetition": ("state",),
    "reversible": ("state",),
    "count": ("state", "i8*"),
    "tactical": ("state", "i8*"),
    "unstable": ("state",),
    "evasions": ("state", "i8*"),
    "rank": ("state", "i8"),
    "may_pass": ("state",),
    "pass_turn": ("state",),
    "probe": ("state", "i8*"),
}
#: The result of each hook.
HOOK_RESULTS: Mapping[str, str] = dict.fromkeys(HOOK_PARAMETERS, "i8") | {
    "play": "state",
    "pass_turn": "state",
    "key": "u8",
    "repetition": "u8",
}


class RuleScope:
    """The local names of one rule, and the constants and signatures of its module."""

    def __init__(self, function: ast.FunctionDef, namespace: Mapping[str, Any]) -> None:
        self.namespace = namespace
        self.word_count = int(namespace.get("WORDS", 1))
        self.locals = {argument.arg for argument in function.args.args} | {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _is_store(node)
        }

    def constant_value(self, node: ast.expr) -> Any:
        """Returns the value of a global name or of a module's attribute; None if it is unknown."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.namespace.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self.constant_value(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
        return None

    def constant_number(self, node: ast.expr) -> int | None:
        """Returns the value of a constant expression; None if it is unknown."""
        if (
            isinstance(node, ast.Call)
            and self.constant_value(node.func) is np.uint64
            and len(node.args) == 1
        ):
            return self.constant_number(node.args[0])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.constant_number(node.operand)
            return None if value is None else -value
        known: Any = node.value if isinstance(node, ast.Constant) else self.constant_value(node)
        return int(known) if isinstance(known, int | np.integer) else None

    def parameter_types(self, function: ast.FunctionDef) -> list[Type]:
        """Returns the types of the parameters: by signature, by hook, or by annotation."""
        arguments = function.args.args
        signature = str(getattr(self.namespace.get(function.name), jit.RULE, "")).replace(" ", "")
        if signature:
            names = [
                name for name in signature.partition("(")[2].removesuffix(")").split(",") if name
            ]
        else:
            names = list(HOOK_PARAMETERS.get(function.name, ()))
        if len(names) == len(arguments):
            return [named_type(name, self.word_count) for name in names]
        return [self.annotated_type(argument.annotation) for argument in arguments]

    def result_type(self, function: ast.FunctionDef) -> Type:
        if function.name in HOOK_RESULTS:
            return named_type(HOOK_RESULTS[function.name], self.word_count)
        return self.annotated_type(function.returns)

    def annotated_type(self, node: ast.expr | None) -> Type:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == "tuple"
        ):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(part, ast.Constant) for part in parts):
                return TupleType(self.annotated_type(parts[0]))
            items = tuple(self.annotated_type(part) for part in parts)
            return TupleType(common_type(items), items)
        value = self.constant_value(node) if node is not None else None
        if value is int:
            return INT
        if value is bool:
            return BOOL
        if value is np.uint64:
            return WORD
        if value is np.int64:
            return INT
        if value is State or (value is not None and value == State):
            return state_type(self.word_count)
        return UNKNOWN


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
