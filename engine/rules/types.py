"""Type inference for rules: tells words from numbers, for the style check of `engine.rules.style`.

Compiled code turns an operation on a word (uint64) and a number (int64) into a signed number, and a
variable that may be either into a float. The inference reports nothing about a value whose type it
does not know. Two later checks of the conformance kit cover such values: the audit of floats and
the comparison of compiled with uncompiled rules.
"""

import ast
import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from engine import jit
from engine.game import State


class Kind(Enum):
    """The types that a rule's values may have."""

    WORD = "a word"
    INT = "a number"
    BOOL = "a truth value"
    INTS = "memory of numbers"
    WORDS = "memory of words"
    UNKNOWN = "unknown"


#: Short names of the kinds that the inference tests most.
WORD, INT, BOOL, UNKNOWN = Kind.WORD, Kind.INT, Kind.BOOL, Kind.UNKNOWN
#: The type of an element of each kind of memory.
ELEMENT_TYPE = {Kind.INTS: INT, Kind.WORDS: WORD}


@dataclass(frozen=True)
class TupleType:
    """A tuple: `items` are the types of its items if known, `item` is their common type."""

    item: "Type"
    items: "tuple[Type, ...] | None" = None


@dataclass(frozen=True)
class ArrayType:
    """A numpy array, a constant of the module; `item` is the type of its elements."""

    item: Kind
    dimensions: int


@dataclass(frozen=True)
class Conflict:
    """The type of a variable that is a word on one path and a number on another."""

    word_line: int
    int_line: int


Type = Kind | TupleType | ArrayType | Conflict
#: The type of each variable and the line that assigned it.
Variables = dict[str, tuple[Type, int]]

#: Reports a fault: its line, what is wrong, and the fix.
Report = Callable[[int, str, str], None]

#: The builtins that rules may call.
ALLOWED_BUILTINS = frozenset(
    {"abs", "bool", "enumerate", "int", "len", "max", "min", "range", "reversed", "zip"},
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
#: The fix for an operation on a word and a number.
MIXED_FIX = "write U(...) around the number, or np.int64(...) around the word"


def state_type(words: int) -> TupleType:
    """Returns the type of a state of `words` words."""
    return TupleType(WORD, (WORD,) * words)


def named_type(name: str, words: int) -> Type:
    """Returns the type that a name in a signature stands for."""
    known: dict[str, Type] = {
        "i8": INT,
        "u8": WORD,
        "b1": BOOL,
        "i8*": Kind.INTS,
        "u8*": Kind.WORDS,
    }
    return state_type(words) if name == "state" else known.get(name, UNKNOWN)


def type_of_value(value: object) -> Type:
    """Returns the type that a module's constant has in compiled code."""
    if isinstance(value, np.generic):
        return _type_of_array(np.asarray(value)).item
    match value:
        case bool():
            return BOOL
        case int():
            return INT if -(1 << 63) <= value < 1 << 63 else WORD
        case tuple():
            items = tuple(type_of_value(item) for item in value)
            return TupleType(common_type(items), items)
        case _:
            return _type_of_array(value) if isinstance(value, np.ndarray) else UNKNOWN


def _type_of_array(value: Any) -> ArrayType:
    kinds: dict[str, Kind] = {"i": INT, "b": BOOL}
    return ArrayType(
        WORD if value.dtype == np.uint64 else kinds.get(value.dtype.kind, UNKNOWN), value.ndim
    )


def common_type(types: tuple[Type, ...]) -> Type:
    """Returns the type if all are equal, else UNKNOWN."""
    return types[0] if types and all(item == types[0] for item in types) else UNKNOWN


def merge_types(first: tuple[Type, int], second: tuple[Type, int]) -> tuple[Type, int]:
    """Returns the type and line of a variable after two paths join."""
    a, b = first[0], second[0]
    if a == b or isinstance(a, Conflict):
        return first
    if isinstance(b, Conflict):
        return second
    if {a, b} == {WORD, INT}:
        return (
            Conflict(first[1], second[1]) if a == WORD else Conflict(second[1], first[1])
        ), first[1]
    return UNKNOWN, first[1]


def merge_paths(paths: list[Variables]) -> Variables | None:
    """Returns the variables after several paths join; None if there is no path."""
    if not paths:
        return None
    merged = dict(paths[0])
    for path in paths[1:]:
        for name, typed in path.items():
            merged[name] = merge_types(merged[name], typed) if name in merged else typed
    return merged


@dataclass
class LoopExits:
    """The variables at each `break` and `continue` of a loop."""

    breaks: list[Variables] = field(default_factory=list)
    continues: list[Variables] = field(default_factory=list)


class RuleTypes:
    """Infers the types of one rule's variables on every path and reports faults."""

    def __init__(
        self,
        function: ast.FunctionDef,
        namespace: Mapping[str, Any],
        rules: Mapping[str, ast.FunctionDef],
        report: Report,
    ) -> None:
        self.function = function
        self.namespace = namespace
        self.rules = rules
        self.report = report
        self.words = int(namespace.get("WORDS", 1))
        self.variables: Variables | None = {}
        self.loops: list[LoopExits] = []
        self.locals = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _is_store(node)
        }

    def check(self) -> None:
        """Infers the types of the whole rule and reports its faults."""
        names = [argument.arg for argument in self.function.args.args]
        types = self.parameter_types(self.function)
        self.locals |= set(names)
        self.variables = {
            name: (typ, self.function.lineno) for name, typ in zip(names, types, strict=True)
        }
        self.check_block(self.function.body)

    # --- declarations

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
            return [named_type(name, self.words) for name in names]
        return [self.annotated_type(argument.annotation) for argument in arguments]

    def result_type(self, function: ast.FunctionDef) -> Type:
        if function.name in HOOK_RESULTS:
            return named_type(HOOK_RESULTS[function.name], self.words)
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
            return state_type(self.words)
        return UNKNOWN

    def constant_value(self, node: ast.expr) -> Any:
        """Returns the value of a global name or of a module's attribute; None if it is unknown."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.namespace.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self.constant_value(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
        return None

    # --- statements

    def check_block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.variables is None:
                return
            self.check_statement(statement)

    def check_statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self.infer(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign() if node.value is not None:
                self.assign(node.target, self.infer(node.value))
            case ast.AugAssign():
                self.assign(
                    node.target, self.infer_operation(node, node.target, node.op, node.value)
                )
            case ast.If():
                self.check_branch(node)
            case ast.While() | ast.For():
                self.check_loop(node)
            case ast.Return():
                if node.value is not None:
                    self.check_return(node)
                self.variables = None
            case ast.Break() | ast.Continue() if self.loops and self.variables is not None:
                paths = (
                    self.loops[-1].breaks
                    if isinstance(node, ast.Break)
                    else self.loops[-1].continues
                )
                paths.append(dict(self.variables))
                self.variables = None
            case ast.Raise():
                self.variables = None
            case ast.Expr():
                self.infer(node.value)
            case ast.Assert():
                self.infer(node.test)
            case _:
                pass

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

    def check_branch(self, node: ast.If) -> None:
        self.infer(node.test)
        before = dict(self.variables or {})
        self.check_block(node.body)
        paths = [self.variables]
        self.variables = before
        self.check_block(node.orelse)
        paths.append(self.variables)
        self.variables = merge_paths([path for path in paths if path is not None])

    def check_loop(self, node: ast.While | ast.For) -> None:
        """Checks the body three times, after which the types no longer change."""
        assert self.variables is not None, "unreachable code is not checked"
        is_endless = (
            isinstance(node, ast.While)
            and isinstance(node.test, ast.Constant)
            and bool(node.test.value)
        )
        before = dict(self.variables)
        repeats: list[Variables] = []
        exits: list[Variables] = []
        for _ in range(3):
            start = merge_paths([before, *repeats])
            assert start is not None, "the path into the loop is one of them"
            self.variables = dict(start)
            self.loops.append(LoopExits())
            if isinstance(node, ast.While):
                self.infer(node.test)
            else:
                self.assign(node.target, self.item_type(node.iter))
            at_test = dict(self.variables) if isinstance(node, ast.While) else start
            self.check_block(node.body)
            loop = self.loops.pop()
            repeats = [
                path for path in (self.current_variables(), *loop.continues) if path is not None
            ]
            exits = [
                *(
                    []
                    if is_endless
                    else [at_test, *([] if isinstance(node, ast.While) else repeats)]
                ),
                *loop.breaks,
            ]
        self.variables = merge_paths(exits)
        self.check_block(node.orelse)

    def current_variables(self) -> Variables | None:
        """Returns `variables`; a type checker does not narrow the result of a call."""
        return self.variables

    def check_return(self, node: ast.Return) -> None:
        assert node.value is not None, "the caller checked it"
        returned, declared = self.infer(node.value), self.result_type(self.function)
        name = self.function.name
        is_tuple_literal = isinstance(node.value, ast.Tuple) and not any(
            isinstance(n, ast.Starred) for n in node.value.elts
        )
        if (
            isinstance(declared, TupleType)
            and declared.items is not None
            and is_tuple_literal
            and isinstance(node.value, ast.Tuple)
        ):
            if len(node.value.elts) != len(declared.items):
                what = (
                    f"{name} returns {len(node.value.elts)} items "
                    f"where {len(declared.items)} are declared"
                )
                self.report(node.lineno, what, "return one item for each of WORDS")
                return
            pairs = [
                (item, self.infer(item), typ)
                for item, typ in zip(node.value.elts, declared.items, strict=True)
            ]
        else:
            pairs = [(node.value, returned, declared)]
        for item, actual, expected in pairs:
            if (
                isinstance(actual, Kind)
                and isinstance(expected, Kind)
                and {actual, expected} == {WORD, INT}
            ):
                fix = (
                    "write U(...) around it"
                    if expected == WORD
                    else "write np.int64(...) around it"
                )
                given = f"{actual.value} ({ast.unparse(item)})"
                what = f"{name} returns {given} where {expected.value} is declared"
                self.report(item.lineno, what, fix)

    # --- expressions

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
                return type_of_value(self.constant_value(node))
            case _:
                return UNKNOWN

    def infer_name(self, node: ast.Name) -> Type:
        if node.id not in self.locals:
            return type_of_value(self.namespace.get(node.id))
        typ = (self.variables or {}).get(node.id, (UNKNOWN, 0))[0]
        if isinstance(typ, Conflict):
            what = (
                f"{node.id} is a word (line {typ.word_line}) or a number (line {typ.int_line}), "
                "which compiles to a float"
            )
            self.report(
                typ.int_line,
                what,
                f"start it with U(0) if it is a word, or use two names, in {self.rule_name}",
            )
            return UNKNOWN
        return typ

    @property
    def rule_name(self) -> str:
        return self.function.name

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
        distance = self.constant_number(right)
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
        if distance is None and is_bit and self.constant_number(left) == 1:
            what = f"1 << {ast.unparse(right)} is a signed number"
            self.report(
                line,
                what,
                f"write ONE << U({ast.unparse(right)}), with ONE = U(1) beside the constants",
            )

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
                item_index = self.constant_number(node.slice)
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

    # --- calls

    def item_type(self, node: ast.expr) -> Type:
        """Returns the type of the items that a `for` loop iterates over."""
        if isinstance(node, ast.Call):
            target = self.constant_value(node.func)
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
        target = self.constant_value(node.func)
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
        self.report(node.lineno, f"{self.rule_name} calls {text}, which compiled rules cannot", fix)
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
            arguments, self.parameter_types(rule), types, node.args, strict=False
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
        return self.result_type(rule)


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
