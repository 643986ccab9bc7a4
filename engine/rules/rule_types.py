"""Type inference for rules: tells words from numbers, for the style check of `engine.rules.style`.

Compiled code turns an operation on a word (uint64) and a number (int64) into a signed number, and a
variable that may be either into a float. The inference reports nothing about a value of unknown
type. Two later checks of the conformance kit cover such values: the audit of floats and
the comparison of compiled with uncompiled rules.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.rules.expression_types import ExpressionTypes, Report
from engine.rules.scope import RuleScope
from engine.rules.types import INT, WORD, Kind, TupleType, Variables, merge_paths


@dataclass
class LoopExits:
    """The variables at each `break` and `continue` of a loop."""

    breaks: list[Variables] = field(default_factory=list)
    continues: list[Variables] = field(default_factory=list)


class RuleTypes:
    """Follows every path through one rule and reports the faults of its types."""

    def __init__(
        self,
        function: ast.FunctionDef,
        namespace: Mapping[str, Any],
        rules: Mapping[str, ast.FunctionDef],
        report: Report,
    ) -> None:
        self.function = function
        self.report = report
        self.scope = RuleScope(function, namespace)
        self.expressions = ExpressionTypes(function, self.scope, rules, report)
        self.loops: list[LoopExits] = []

    def check(self) -> None:
        """Infers the types of the whole rule and reports its faults."""
        names = [argument.arg for argument in self.function.args.args]
        types = self.scope.parameter_types(self.function)
        self.expressions.variables = {
            name: (typ, self.function.lineno) for name, typ in zip(names, types, strict=True)
        }
        self.check_block(self.function.body)

    def check_block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.expressions.variables is None:
                return
            self.check_statement(statement)

    def check_statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self.expressions.infer(node.value)
                for target in node.targets:
                    self.expressions.assign(target, value)
            case ast.AnnAssign() if node.value is not None:
                self.expressions.assign(node.target, self.expressions.infer(node.value))
            case ast.AugAssign():
                self.expressions.assign(
                    node.target,
                    self.expressions.infer_operation(node, node.target, node.op, node.value),
                )
            case ast.If():
                self.check_branch(node)
            case ast.While() | ast.For():
                self.check_loop(node)
            case ast.Return():
                if node.value is not None:
                    self.check_return(node)
                self.expressions.variables = None
            case ast.Break() | ast.Continue() if self.loops:
                self.leave_loop(node)
            case ast.Raise():
                self.expressions.variables = None
            case ast.Expr():
                self.expressions.infer(node.value)
            case ast.Assert():
                self.expressions.infer(node.test)
            case _:
                pass

    def leave_loop(self, node: ast.Break | ast.Continue) -> None:
        """Ends this path; its variables reach the end or the next round of the loop."""
        variables, loop = self.expressions.variables, self.loops[-1]
        assert variables is not None, "unreachable code is not checked"
        (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(dict(variables))
        self.expressions.variables = None

    def check_branch(self, node: ast.If) -> None:
        self.expressions.infer(node.test)
        before = dict(self.expressions.variables or {})
        self.check_block(node.body)
        paths = [self.expressions.variables]
        self.expressions.variables = before
        self.check_block(node.orelse)
        paths.append(self.expressions.variables)
        self.expressions.variables = merge_paths([path for path in paths if path is not None])

    def check_loop(self, node: ast.While | ast.For) -> None:
        """Checks the body three times, after which the types no longer change."""
        assert self.expressions.variables is not None, "unreachable code is not checked"
        is_endless = (
            isinstance(node, ast.While)
            and isinstance(node.test, ast.Constant)
            and bool(node.test.value)
        )
        before = dict(self.expressions.variables)
        repeats: list[Variables] = []
        exits: list[Variables] = []
        for _ in range(3):
            start = merge_paths([before, *repeats])
            assert start is not None, "the path into the loop is one of them"
            self.expressions.variables = dict(start)
            self.loops.append(LoopExits())
            if isinstance(node, ast.While):
                self.expressions.infer(node.test)
            else:
                self.expressions.assign(node.target, self.expressions.item_type(node.iter))
            at_test = dict(self.expressions.variables) if isinstance(node, ast.While) else start
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
        self.expressions.variables = merge_paths(exits)
        self.check_block(node.orelse)

    def current_variables(self) -> Variables | None:
        """Returns the variables; mypy would narrow the attribute, but not the result of a call."""
        return self.expressions.variables

    def check_return(self, node: ast.Return) -> None:
        assert node.value is not None, "the caller checked it"
        returned = self.expressions.infer(node.value)
        declared = self.scope.result_type(self.function)
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
                (item, self.expressions.infer(item), typ)
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
