"""Infers the types of expressions in a rule and reports the faults in them."""

import ast
import builtins
from collections.abc import Callable, Mapping
from types import FunctionType

import numpy as np

from engine import jit
from engine.rules.scope import RuleScope
from engine.rules.types import (
    BOOL,
    ELEMENT_TYPE,
    INT,
    UNKNOWN,
    WORD,
    ArrayType,
    Conflict,
    Kind,
    TupleType,
    Type,
    Variables,
    common_type,
    type_of_value,
)

#: Reports a fault: its line, what is wrong, and the fix.
Report = Callable[[int, str, str], None]
#: The builtins that rules may call.
ALLOWED_BUILTINS = frozenset(
    {"abs", "bool", "enumerate", "int", "len", "max", "min", "range", "reversed", "zip"},
)
#: The fix for an operation on a word and a number.
MIXED_FIX = "write U(...) around the number, or np.int64(...) around the word"


class ExpressionTypes:
    """Infers the types of one rule's expressions.

    `variables` holds the types at the current point of the rule, or None where the code is
    unreachable.
    """

    def __init__(
        self,
        function: ast.FunctionDef,
        scope: RuleScope,
        rules: Mapping[str, ast.FunctionDef],
        report: Report,
    ) -> None:
        self.function = function
        self.scope = scope
        self.rules = rules
        self.report = report
        self.variables: Variables | None = {}

    def infer(self, node: ast.expr) -> Type:
        """Returns the type of an expression and reports the faults in it."""
        match node:
            case ast.Name():
                return self.infer_name(node)
            case ast.Constant():
                return type_of_value(node.value)
            case ast.BinOp():
                return self.infer_operation(node, node.left, node.op, node.right)
            case ast.UnaryOp():
                operand = self.infer(node.operand)
                is_not = isinstance(node.op, ast.Not)
                return BOOL if is_not else INT if operand == BOOL else operand
            case ast.Compare():
                for part in (node.left, *node.comparators):
                    self.infer(part)
                return BOOL
            case ast.BoolOp():
                return common_type(tuple(self.infer(value) for value in node.values))
            case ast.IfExp():
                return self.infer_conditional(node)
            case ast.Call():
                return self.infer_call(node)
            case ast.Subscript():
                return self.infer_subscript(node)
            case ast.Tuple():
                items = tuple(self.infer(item) for item in node.elts)
                is_starred = any(isinstance(item, ast.Starred) for item in node.elts)
                return UNKNOWN if is_starred else TupleType(common_type(items), items)
            case ast.NamedExpr():
                value = self.infer(node.value)
                self.assign(node.target, value)
                return value
            case ast.Attribute():
                return type_of_value(self.scope.constant_value(node))
            case _:
                return UNKNOWN

    def assign(self, target: ast.expr, value: Type) -> None:
        """Records the type that an assignment gives to its target."""
        assert self.variables is not None, "unreachable code is not checked"
        if isinstance(target, ast.Name):
            self.variables[target.id] = (value, target.lineno)
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if isinstance(value, TupleType) else None
            same = value.item if isinstance(value, TupleType) else UNKNOWN
            known = (
                items
                if items is not None and len(items) == len(target.elts)
                else (same,) * len(target.elts)
            )
            for item, typ in zip(target.elts, known, strict=True):
                self.assign(item, typ)
        elif isinstance(target, ast.Subscript):
            self.infer(target.value)
            self.infer(target.slice)

    def infer_name(self, node: ast.Name) -> Type:
        if node.id not in self.scope.locals:
            return type_of_value(self.scope.namespace.get(node.id))
        typ = (self.variables or {}).get(node.id, (UNKNOWN, 0))[0]
        if isinstance(typ, Conflict):
            what = (
                f"{node.id} is a word (line {typ.word_line}) or a number (line {typ.int_line}), "
                "which compiles to a float"
            )
            self.report(
                typ.int_line,
                what,
                f"start it with U(0) if it is a word, or use two names, in {self.function.name}",
            )
            return UNKNOWN
        return typ

    def infer_operation(
        self, node: ast.AST, left: ast.expr, operator: ast.operator, right: ast.expr
    ) -> Type:
        line = getattr(node, "lineno", self.function.lineno)
        a, b = self.infer(left), self.infer(right)
        if isinstance(operator, ast.Div):
            self.report(
                line,
                f"/ gives a float: {ast.unparse(node)}",
                "use // on numbers, // U(...) or >> on words",
            )
            return UNKNOWN
        if isinstance(operator, ast.Pow):
            self.report(
                line,
                f"** gives another result when compiled: {ast.unparse(node)}",
                "multiply or shift instead",
            )
            return UNKNOWN
        if isinstance(operator, ast.LShift | ast.RShift):
            self.check_shift(line, node, left, right)
            return a if a in (WORD, INT) else INT if a == BOOL else UNKNOWN
        kinds = {a, b}
        if WORD in kinds and kinds & {INT, BOOL}:
            number = left if a in (INT, BOOL) else right
            what = (
                f"the number {ast.unparse(number)} next to a word makes the expression signed: "
                f"{ast.unparse(node)}"
            )
            self.report(line, what, self.mixed_fix(number))
            return UNKNOWN
        if kinds == {WORD}:
            return WORD
        if kinds == {BOOL} and isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor):
            return BOOL
        return INT if kinds <= {INT, BOOL} else UNKNOWN

    def mixed_fix(self, number: ast.expr) -> str:
        """Returns the fix for an operation on a word and a number."""
        assigned = (self.variables or {}).get(number.id) if isinstance(number, ast.Name) else None
        if (
            not isinstance(number, ast.Name)
            or assigned is None
            or assigned[1] == self.function.lineno
        ):
            return MIXED_FIX
        start = f"start {number.id} with U(0) in line {assigned[1]}"
        return f"{start} if it is a word, or else {MIXED_FIX}"

    def check_shift(self, line: int, node: ast.AST, left: ast.expr, right: ast.expr) -> None:
        distance = self.scope.constant_number(right)
        text = ast.unparse(node)
        if distance is not None and not 0 <= distance < 64:
            self.report(
                line,
                f"a shift by {distance} is undefined when compiled: {text}",
                "shift by 0 to 63",
            )
        is_bit = (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.LShift)
            and isinstance(left, ast.Constant)
        )
        if distance is None and is_bit and self.scope.constant_number(left) == 1:
            what = f"1 << {ast.unparse(right)} is a signed number"
            self.report(
                line,
                what,
                f"write ONE << U({ast.unparse(right)}), with ONE = U(1) beside the constants",
            )

    def infer_conditional(self, node: ast.IfExp) -> Type:
        self.infer(node.test)
        a, b = self.infer(node.body), self.infer(node.orelse)
        if {a, b} == {WORD, INT}:
            what = f"a word or a number, which compiles to a float: {ast.unparse(node)}"
            self.report(node.lineno, what, "give both arms one type: U(0) beside a word")
            return UNKNOWN
        return a if a == b else UNKNOWN

    def infer_subscript(self, node: ast.Subscript) -> Type:
        owner = self.infer(node.value)
        indexes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        is_slice = any(isinstance(index, ast.Slice) for index in indexes)
        for index in indexes:
            if not isinstance(index, ast.Slice):
                self.infer(index)
        match owner:
            case TupleType() if is_slice:
                return TupleType(owner.item)
            case TupleType():
                item_index = self.scope.constant_number(node.slice)
                is_known = (
                    owner.items is not None
                    and item_index is not None
                    and -len(owner.items) <= item_index < len(owner.items)
                )
                return (
                    owner.items[item_index]
                    if is_known and owner.items and item_index is not None
                    else owner.item
                )
            case ArrayType() if not is_slice:
                left = owner.dimensions - len(indexes)
                return owner.item if left <= 0 else ArrayType(owner.item, left)
            case Kind() if owner in ELEMENT_TYPE:
                return owner if is_slice else ELEMENT_TYPE[owner]
            case _:
                return UNKNOWN

    def item_type(self, node: ast.expr) -> Type:
        """Returns the type of the items that a `for` loop iterates over."""
        if isinstance(node, ast.Call):
            target = self.scope.constant_value(node.func)
            parts = node.args
            if target is range:
                self.infer_call(node)
                return INT
            if target in (enumerate, zip):
                items = tuple(self.item_type(part) for part in parts)
                items = (INT, *items[:1]) if target is enumerate else items
                return TupleType(common_type(items), items)
            if target is reversed and parts:
                return self.item_type(parts[0])
        typ = self.infer(node)
        match typ:
            case TupleType():
                return typ.item
            case ArrayType():
                return typ.item if typ.dimensions == 1 else ArrayType(typ.item, typ.dimensions - 1)
            case _:
                return UNKNOWN

    def infer_call(self, node: ast.Call) -> Type:
        types = [self.infer(argument) for argument in node.args]
        target = self.scope.constant_value(node.func)
        text = ast.unparse(node.func)
        if target is np.uint64:
            return WORD
        if target is np.int64:
            return INT
        if target in (jit.popcount, jit.lsb, jit.msb, len):
            return INT
        if target is jit.at and types:
            return types[0]
        if target is jit.put:
            return UNKNOWN
        if target in tuple(getattr(builtins, name) for name in ALLOWED_BUILTINS):
            return self.infer_builtin_call(node, target, types)
        if isinstance(target, FunctionType) and hasattr(target, jit.RULE):
            return self.infer_rule_call(node, text, types)
        fix = (
            "mark it with @rule, use the bit helpers of engine.jit, "
            "or compute it beside the constants"
        )
        self.report(
            node.lineno, f"{self.function.name} calls {text}, which compiled rules cannot", fix
        )
        return UNKNOWN

    def infer_builtin_call(self, node: ast.Call, target: object, types: list[Type]) -> Type:
        if target is bool:
            return BOOL
        if target is int:
            if types == [WORD]:
                what = f"int() leaves a word a word when compiled: {ast.unparse(node)}"
                self.report(node.lineno, what, "write np.int64(...)")
                return UNKNOWN
            return types[0] if types == [INT] else UNKNOWN
        if target in (min, max) and WORD in types and INT in types:
            what = f"a word or a number, which compiles to a float: {ast.unparse(node)}"
            self.report(node.lineno, what, MIXED_FIX)
            return UNKNOWN
        return common_type(tuple(types)) if target in (abs, min, max) else UNKNOWN

    def infer_rule_call(self, node: ast.Call, name: str, types: list[Type]) -> Type:
        rule = self.rules.get(name)
        if rule is None:
            return UNKNOWN
        arguments = rule.args.args
        for argument, declared, given, argument_node in zip(
            arguments, self.scope.parameter_types(rule), types, node.args, strict=False
        ):
            if (
                {given, declared} == {WORD, INT}
                and isinstance(given, Kind)
                and isinstance(declared, Kind)
            ):
                what = (
                    f"{name} takes {declared.value} as {argument.arg}, "
                    f"not {given.value} ({ast.unparse(argument_node)})"
                )
                self.report(
                    node.lineno,
                    what,
                    "write U(...) around it" if declared == WORD else "write np.int64(...)",
                )
        return self.scope.result_type(rule)
