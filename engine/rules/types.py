"""Type inference for rules: which values are words and which are numbers, for
`engine.rules.style`.

In compiled code a word (uint64) and a number (int64) that meet become a signed number, and a
variable that may be either becomes a float. Where the inference does not know a type it reports
nothing; the audit of floats and the comparison of compiled with uncompiled rules follow it.
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


WORD, INT, BOOL, UNKNOWN = Kind.WORD, Kind.INT, Kind.BOOL, Kind.UNKNOWN
MEMORY = {Kind.INTS: INT, Kind.WORDS: WORD}


@dataclass(frozen=True)
class Row:
    """A tuple: the types of its items where they are known, and the common type of any item."""

    item: "Type"
    items: "tuple[Type, ...] | None" = None


@dataclass(frozen=True)
class Array:
    """A numpy array that is a constant of the module."""

    item: Kind
    dimensions: int


@dataclass(frozen=True)
class Clash:
    """The type of a variable that is a word on one path and a number on another."""

    word_line: int
    int_line: int


Type = Kind | Row | Array | Clash
#: The type of each variable, and the line that assigned it.
Env = dict[str, tuple[Type, int]]

#: Reports a fault: its line, what is wrong, and the cure.
Report = Callable[[int, str, str], None]

#: The builtins that rules may call.
ALLOWED = frozenset(
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
#: The cure where a word and a number meet.
MIXED = "write U(...) around the number, or np.int64(...) around the word"


def state_type(words: int) -> Row:
    return Row(WORD, (WORD,) * words)


def named_type(name: str, words: int) -> Type:
    """The type that a word of a signature text names."""
    known: dict[str, Type] = {
        "i8": INT,
        "u8": WORD,
        "b1": BOOL,
        "i8*": Kind.INTS,
        "u8*": Kind.WORDS,
    }
    return state_type(words) if name == "state" else known.get(name, UNKNOWN)


def type_of_value(value: object) -> Type:
    """The type of a module's constant in compiled code."""
    if isinstance(value, np.generic):
        return _type_of_array(np.asarray(value)).item
    match value:
        case bool():
            return BOOL
        case int():
            return INT if -(1 << 63) <= value < 1 << 63 else WORD
        case tuple():
            items = tuple(type_of_value(item) for item in value)
            return Row(joined(items), items)
        case _:
            return _type_of_array(value) if isinstance(value, np.ndarray) else UNKNOWN


def _type_of_array(value: Any) -> Array:
    kinds: dict[str, Kind] = {"i": INT, "b": BOOL}
    return Array(
        WORD if value.dtype == np.uint64 else kinds.get(value.dtype.kind, UNKNOWN), value.ndim
    )


def joined(types: tuple[Type, ...]) -> Type:
    return types[0] if types and all(one == types[0] for one in types) else UNKNOWN


def merged(one: tuple[Type, int], other: tuple[Type, int]) -> tuple[Type, int]:
    """The type and line of a variable where two paths meet."""
    a, b = one[0], other[0]
    if a == b or isinstance(a, Clash):
        return one
    if isinstance(b, Clash):
        return other
    if {a, b} == {WORD, INT}:
        return (Clash(one[1], other[1]) if a == WORD else Clash(other[1], one[1])), one[1]
    return UNKNOWN, one[1]


def merge(envs: list[Env]) -> Env | None:
    """The variables where several paths meet; None when no path leads there."""
    if not envs:
        return None
    total = dict(envs[0])
    for env in envs[1:]:
        for name, typed in env.items():
            total[name] = merged(total[name], typed) if name in total else typed
    return total


@dataclass
class Loop:
    """The variables at each `break` and `continue` of a loop."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


class RuleTypes:
    """Walks through one rule, infers its variables on every path, and reports faults."""

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
        self.env: Env | None = {}
        self.loops: list[Loop] = []
        self.locals = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _is_store(node)
        }

    def check(self) -> None:
        names = [argument.arg for argument in self.function.args.args]
        types = self.parameters(self.function)
        self.locals |= set(names)
        self.env = {
            name: (typ, self.function.lineno) for name, typ in zip(names, types, strict=True)
        }
        self.block(self.function.body)

    # --- declarations

    def parameters(self, function: ast.FunctionDef) -> list[Type]:
        """The parameters' types: from the signature text, from the hooks, or from annotations."""
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
        return [self.annotated(argument.annotation) for argument in arguments]

    def result(self, function: ast.FunctionDef) -> Type:
        if function.name in HOOK_RESULTS:
            return named_type(HOOK_RESULTS[function.name], self.words)
        return self.annotated(function.returns)

    def annotated(self, node: ast.expr | None) -> Type:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == "tuple"
        ):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(part, ast.Constant) for part in parts):
                return Row(self.annotated(parts[0]))
            items = tuple(self.annotated(part) for part in parts)
            return Row(joined(items), items)
        value = self.constant(node) if node is not None else None
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

    def constant(self, node: ast.expr) -> Any:
        """The value of a global name or of a module's attribute; None when it is unknown."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.namespace.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self.constant(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
        return None

    # --- statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.env is None:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self.typed(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign() if node.value is not None:
                self.assign(node.target, self.typed(node.value))
            case ast.AugAssign():
                self.assign(node.target, self.operation(node, node.target, node.op, node.value))
            case ast.If():
                self.branch(node)
            case ast.While() | ast.For():
                self.loop(node)
            case ast.Return():
                if node.value is not None:
                    self.returned(node)
                self.env = None
            case ast.Break() | ast.Continue() if self.loops and self.env is not None:
                paths = (
                    self.loops[-1].breaks
                    if isinstance(node, ast.Break)
                    else self.loops[-1].continues
                )
                paths.append(dict(self.env))
                self.env = None
            case ast.Raise():
                self.env = None
            case ast.Expr():
                self.typed(node.value)
            case ast.Assert():
                self.typed(node.test)
            case _:
                pass

    def assign(self, target: ast.expr, value: Type) -> None:
        assert self.env is not None, "unreachable code is not checked"
        if isinstance(target, ast.Name):
            self.env[target.id] = (value, target.lineno)
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if isinstance(value, Row) else None
            same = value.item if isinstance(value, Row) else UNKNOWN
            known = (
                items
                if items is not None and len(items) == len(target.elts)
                else (same,) * len(target.elts)
            )
            for one, typ in zip(target.elts, known, strict=True):
                self.assign(one, typ)
        elif isinstance(target, ast.Subscript):
            self.typed(target.value)
            self.typed(target.slice)

    def branch(self, node: ast.If) -> None:
        self.typed(node.test)
        before = dict(self.env or {})
        self.block(node.body)
        paths = [self.env]
        self.env = before
        self.block(node.orelse)
        paths.append(self.env)
        self.env = merge([path for path in paths if path is not None])

    def loop(self, node: ast.While | ast.For) -> None:
        """Repeats the body until the types are final; three rounds suffice for two kinds."""
        assert self.env is not None, "unreachable code is not checked"
        is_endless = (
            isinstance(node, ast.While)
            and isinstance(node.test, ast.Constant)
            and bool(node.test.value)
        )
        before = dict(self.env)
        ended: list[Env] = []
        exits: list[Env] = []
        for _ in range(3):
            start = merge([before, *ended])
            assert start is not None, "the path from above leads here"
            self.env = dict(start)
            self.loops.append(Loop())
            if isinstance(node, ast.While):
                self.typed(node.test)
            else:
                self.assign(node.target, self.iterated(node.iter))
            at_test = dict(self.env) if isinstance(node, ast.While) else start
            self.block(node.body)
            loop = self.loops.pop()
            ended = [path for path in (self.reached(), *loop.continues) if path is not None]
            exits = [
                *([] if is_endless else [at_test, *([] if isinstance(node, ast.While) else ended)]),
                *loop.breaks,
            ]
        self.env = merge(exits)
        self.block(node.orelse)

    def reached(self) -> Env | None:
        """The variables at this point; None when no path leads here."""
        return self.env

    def returned(self, node: ast.Return) -> None:
        assert node.value is not None, "the caller checked it"
        found, wanted = self.typed(node.value), self.result(self.function)
        name = self.function.name
        is_listed = isinstance(node.value, ast.Tuple) and not any(
            isinstance(n, ast.Starred) for n in node.value.elts
        )
        if (
            isinstance(wanted, Row)
            and wanted.items is not None
            and is_listed
            and isinstance(node.value, ast.Tuple)
        ):
            if len(node.value.elts) != len(wanted.items):
                what = (
                    f"{name} returns {len(node.value.elts)} items "
                    f"where {len(wanted.items)} are declared"
                )
                self.report(node.lineno, what, "return one item for each of WORDS")
                return
            pairs = [
                (item, self.typed(item), typ)
                for item, typ in zip(node.value.elts, wanted.items, strict=True)
            ]
        else:
            pairs = [(node.value, found, wanted)]
        for item, given, due in pairs:
            if isinstance(given, Kind) and isinstance(due, Kind) and {given, due} == {WORD, INT}:
                cure = "write U(...) around it" if due == WORD else "write np.int64(...) around it"
                what = f"{name} gives {given.value} ({ast.unparse(item)}) where {due.value} is due"
                self.report(item.lineno, what, cure)

    # --- expressions

    def typed(self, node: ast.expr) -> Type:
        match node:
            case ast.Name():
                return self.named(node)
            case ast.Constant():
                return type_of_value(node.value)
            case ast.BinOp():
                return self.operation(node, node.left, node.op, node.right)
            case ast.UnaryOp():
                operand = self.typed(node.operand)
                is_not = isinstance(node.op, ast.Not)
                return BOOL if is_not else INT if operand == BOOL else operand
            case ast.Compare():
                for part in (node.left, *node.comparators):
                    self.typed(part)
                return BOOL
            case ast.BoolOp():
                return joined(tuple(self.typed(value) for value in node.values))
            case ast.IfExp():
                return self.choice(node)
            case ast.Call():
                return self.call(node)
            case ast.Subscript():
                return self.element(node)
            case ast.Tuple():
                items = tuple(self.typed(item) for item in node.elts)
                is_starred = any(isinstance(item, ast.Starred) for item in node.elts)
                return UNKNOWN if is_starred else Row(joined(items), items)
            case ast.NamedExpr():
                value = self.typed(node.value)
                self.assign(node.target, value)
                return value
            case ast.Attribute():
                return type_of_value(self.constant(node))
            case _:
                return UNKNOWN

    def named(self, node: ast.Name) -> Type:
        if node.id not in self.locals:
            return type_of_value(self.namespace.get(node.id))
        typ = (self.env or {}).get(node.id, (UNKNOWN, 0))[0]
        if isinstance(typ, Clash):
            what = (
                f"{node.id} is a word (line {typ.word_line}) or a number (line {typ.int_line}), "
                "compiled a float"
            )
            self.report(
                typ.int_line,
                what,
                f"start it with U(0) if it is a word, or use two names, in {self.where}",
            )
            return UNKNOWN
        return typ

    @property
    def where(self) -> str:
        return self.function.name

    def operation(
        self, node: ast.AST, left: ast.expr, operator: ast.operator, right: ast.expr
    ) -> Type:
        line = getattr(node, "lineno", self.function.lineno)
        a, b = self.typed(left), self.typed(right)
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
                f"** is another thing when compiled: {ast.unparse(node)}",
                "multiply or shift instead",
            )
            return UNKNOWN
        if isinstance(operator, ast.LShift | ast.RShift):
            self.shift(line, node, left, right)
            return a if a in (WORD, INT) else INT if a == BOOL else UNKNOWN
        kinds = {a, b}
        if WORD in kinds and kinds & {INT, BOOL}:
            number = left if a in (INT, BOOL) else right
            what = (
                f"the number {ast.unparse(number)} next to a word makes the whole signed: "
                f"{ast.unparse(node)}"
            )
            self.report(line, what, self.cure_of_mix(number))
            return UNKNOWN
        if kinds == {WORD}:
            return WORD
        if kinds == {BOOL} and isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor):
            return BOOL
        return INT if kinds <= {INT, BOOL} else UNKNOWN

    def cure_of_mix(self, number: ast.expr) -> str:
        """The cure where a word and a number meet; an accumulator is best fixed where it starts."""
        begun = (self.env or {}).get(number.id) if isinstance(number, ast.Name) else None
        if not isinstance(number, ast.Name) or begun is None or begun[1] == self.function.lineno:
            return MIXED
        return f"start {number.id} with U(0) in line {begun[1]} if it is a word, or else {MIXED}"

    def shift(self, line: int, node: ast.AST, left: ast.expr, right: ast.expr) -> None:
        distance = self.number(right)
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
        if distance is None and is_bit and self.number(left) == 1:
            what = f"1 << {ast.unparse(right)} is a signed number"
            self.report(
                line,
                what,
                f"write ONE << U({ast.unparse(right)}), with ONE = U(1) beside the constants",
            )

    def number(self, node: ast.expr) -> int | None:
        """The value of a constant shift distance; None when it is unknown."""
        if (
            isinstance(node, ast.Call)
            and self.constant(node.func) is np.uint64
            and len(node.args) == 1
        ):
            return self.number(node.args[0])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.number(node.operand)
            return None if value is None else -value
        known: Any = node.value if isinstance(node, ast.Constant) else self.constant(node)
        return int(known) if isinstance(known, int | np.integer) else None

    def choice(self, node: ast.IfExp) -> Type:
        self.typed(node.test)
        a, b = self.typed(node.body), self.typed(node.orelse)
        if {a, b} == {WORD, INT}:
            what = f"a word or a number, compiled a float: {ast.unparse(node)}"
            self.report(node.lineno, what, "give both arms one type: U(0) beside a word")
            return UNKNOWN
        return a if a == b else UNKNOWN

    def element(self, node: ast.Subscript) -> Type:
        owner = self.typed(node.value)
        indexes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        is_slice = any(isinstance(index, ast.Slice) for index in indexes)
        for index in indexes:
            if not isinstance(index, ast.Slice):
                self.typed(index)
        match owner:
            case Row() if is_slice:
                return Row(owner.item)
            case Row():
                at = self.number(node.slice)
                is_known = (
                    owner.items is not None
                    and at is not None
                    and -len(owner.items) <= at < len(owner.items)
                )
                return (
                    owner.items[at] if is_known and owner.items and at is not None else owner.item
                )
            case Array() if not is_slice:
                left = owner.dimensions - len(indexes)
                return owner.item if left <= 0 else Array(owner.item, left)
            case Kind() if owner in MEMORY:
                return owner if is_slice else MEMORY[owner]
            case _:
                return UNKNOWN

    # --- calls

    def iterated(self, node: ast.expr) -> Type:
        """The type of the items that a `for` loop iterates over."""
        if isinstance(node, ast.Call):
            target = self.constant(node.func)
            parts = node.args
            if target is range:
                self.call(node)
                return INT
            if target in (enumerate, zip):
                items = tuple(self.iterated(part) for part in parts)
                items = (INT, *items[:1]) if target is enumerate else items
                return Row(joined(items), items)
            if target is reversed and parts:
                return self.iterated(parts[0])
        typ = self.typed(node)
        match typ:
            case Row():
                return typ.item
            case Array():
                return typ.item if typ.dimensions == 1 else Array(typ.item, typ.dimensions - 1)
            case _:
                return UNKNOWN

    def call(self, node: ast.Call) -> Type:
        types = [self.typed(argument) for argument in node.args]
        target = self.constant(node.func)
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
        if target in tuple(getattr(builtins, name) for name in ALLOWED):
            return self.builtin(node, target, types)
        if isinstance(target, FunctionType) and hasattr(target, jit.RULE):
            return self.called_rule(node, text, types)
        cure = (
            "mark it with @rule, use the bit helpers of engine.jit, "
            "or compute it beside the constants"
        )
        self.report(node.lineno, f"{self.where} calls {text}, which compiled rules cannot", cure)
        return UNKNOWN

    def builtin(self, node: ast.Call, target: object, types: list[Type]) -> Type:
        if target is bool:
            return BOOL
        if target is int:
            if types == [WORD]:
                what = f"int() leaves a word a word when compiled: {ast.unparse(node)}"
                self.report(node.lineno, what, "write np.int64(...)")
                return UNKNOWN
            return types[0] if types == [INT] else UNKNOWN
        if target in (min, max) and WORD in types and INT in types:
            what = f"a word or a number, compiled a float: {ast.unparse(node)}"
            self.report(node.lineno, what, MIXED)
            return UNKNOWN
        return joined(tuple(types)) if target in (abs, min, max) else UNKNOWN

    def called_rule(self, node: ast.Call, name: str, types: list[Type]) -> Type:
        rule = self.rules.get(name)
        if rule is None:
            return UNKNOWN
        arguments = rule.args.args
        for argument, wanted, found, given in zip(
            arguments, self.parameters(rule), types, node.args, strict=False
        ):
            if (
                {found, wanted} == {WORD, INT}
                and isinstance(found, Kind)
                and isinstance(wanted, Kind)
            ):
                what = (
                    f"{name} takes {wanted.value} as {argument.arg}, "
                    f"not {found.value} ({ast.unparse(given)})"
                )
                self.report(
                    node.lineno,
                    what,
                    "write U(...) around it" if wanted == WORD else "write np.int64(...)",
                )
        return self.result(rule)


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
