"""Inlined functions: each call of one is replaced by its single statement before the search is
compiled or interpreted.

The accessors of the search's memory (`engine.search.stack`, `engine.search.tt`) are such functions.
The replacement is done in the syntax tree, so the code that is left is the same as if each access
were written out. It takes 20 ms once per process, and nothing at run time. As compiled functions of
their own, the accessors would add 1.4 seconds to the compilation of each game.
"""

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

#: The attribute that marks a function as inlined.
INLINE = "__plyroom_inline__"


def inline(function: F) -> F:
    """Marks a function whose calls are replaced by its statement; returns it unchanged.

    Its body is a docstring and one statement: `return` with an expression, or an assignment or call
    for a function that returns nothing. A call passes its arguments by position. An argument whose
    parameter occurs more than once must be a name or a constant, because it is evaluated each time.
    """
    setattr(function, INLINE, True)
    return function


def template_functions(template: ModuleType) -> dict[str, FunctionType]:
    """The functions of a template and of the modules in its PARTS by name, with inlined calls.

    The inlined functions themselves are not among them.
    """
    modules = (*getattr(template, "PARTS", ()), template)
    code = _inlined_code(modules)
    return {
        name: _with_code(function, code.get(name, function.__code__))
        for module in modules
        for name, function in _own_functions(module).items()
        if not hasattr(function, INLINE)
    }


def _own_functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions that a module defines itself."""
    return {
        name: function
        for name, function in vars(module).items()
        if isinstance(function, FunctionType) and function.__module__ == module.__name__
    }


def _with_code(function: FunctionType, code: CodeType) -> FunctionType:
    if code is function.__code__:
        return function
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    copy.__dict__.update(function.__dict__)
    return copy


@dataclass(frozen=True)
class _Body:
    """The statement of an inlined function, and its parameters."""

    name: str
    parameters: tuple[str, ...]
    statement: ast.stmt

    @classmethod
    def of(cls, function: ast.FunctionDef) -> "_Body":
        has_docstring = ast.get_docstring(function) is not None
        statements = function.body[1:] if has_docstring else function.body
        if len(statements) != 1 or not isinstance(
            statements[0], ast.Return | ast.Assign | ast.Expr
        ):
            raise TypeError(f"{function.name} is inlined, so its body must be one statement")
        parameters = tuple(argument.arg for argument in function.args.args)
        return cls(function.name, parameters, statements[0])

    def instantiate(self, call: ast.Call, local_names: set[str]) -> ast.stmt:
        """The statement with the arguments of a call in place of the parameters."""
        if call.keywords or len(call.args) != len(self.parameters):
            raise TypeError(f"line {call.lineno}: {self.name} takes {', '.join(self.parameters)}")
        arguments = dict(zip(self.parameters, call.args, strict=True))
        uses = Counter(node.id for node in ast.walk(self.statement) if isinstance(node, ast.Name))
        for name, argument in arguments.items():
            if uses[name] > 1 and not isinstance(argument, ast.Name | ast.Constant):
                raise TypeError(f"line {call.lineno}: {name} of {self.name} must be a plain name")
        if hidden := (uses.keys() - arguments.keys()) & local_names:
            raise TypeError(f"line {call.lineno}: {self.name} means the global {', '.join(hidden)}")
        return cast(ast.stmt, _substituted(self.statement, arguments, call))


def _substituted(node: ast.AST, arguments: Mapping[str, ast.expr], call: ast.Call) -> ast.AST:
    """A copy of a node at the line of a call, with its arguments in place of the parameters."""
    if isinstance(node, ast.Name) and node.id in arguments:
        return arguments[node.id]
    fields: dict[str, Any] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            fields[name] = _substituted(value, arguments, call)
        elif isinstance(value, list):
            fields[name] = [_substituted(item, arguments, call) for item in value]
        else:
            fields[name] = value
    return ast.copy_location(type(node)(**fields), call)


class _Inliner(ast.NodeTransformer):
    """Replaces the calls of inlined functions within one function."""

    def __init__(self, bodies: Mapping[str, _Body], local_names: set[str]) -> None:
        self._bodies = bodies
        self._local_names = local_names

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        body = self._body_of(call)
        if body is None or isinstance(body.statement, ast.Return):
            return self.generic_visit(node)
        return cast(ast.AST, self.visit(body.instantiate(cast(ast.Call, call), self._local_names)))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        body = self._body_of(node)
        if body is None:
            return self.generic_visit(node)
        statement = body.instantiate(node, self._local_names)
        if not isinstance(statement, ast.Return) or statement.value is None:
            raise TypeError(f"line {node.lineno}: {body.name} returns nothing")
        return cast(ast.AST, self.visit(statement.value))

    def _body_of(self, node: ast.expr) -> _Body | None:
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return self._bodies.get(node.func.id) if is_call else None  # type: ignore[attr-defined]


@cache
def _inlined_code(modules: tuple[ModuleType, ...]) -> dict[str, CodeType]:
    """The code of the functions that call an inlined function, with these calls replaced."""
    functions = {module: _own_functions(module) for module in modules}
    inlined = {name for own in functions.values() for name, f in own.items() if hasattr(f, INLINE)}
    if not inlined:
        return {}
    trees = {
        module: {
            node.name: node
            for node in ast.parse(inspect.getsource(module)).body
            if isinstance(node, ast.FunctionDef)
        }
        for module in modules
    }
    bodies = {
        name: _Body.of(node)
        for nodes in trees.values()
        for name, node in nodes.items()
        if name in inlined
    }
    return {
        name: _compile(_Inliner(bodies, {*f.__code__.co_varnames}).visit(trees[module][name]), f)
        for module, own in functions.items()
        for name, f in own.items()
        if name not in inlined and inlined & {*f.__code__.co_names}
    }


def _compile(tree: ast.FunctionDef, function: FunctionType) -> CodeType:
    """The code of a function with a changed tree; its lines are those of the source."""
    module = ast.Module([tree], [])
    code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    return next(
        constant
        for constant in code.co_consts
        if isinstance(constant, CodeType) and constant.co_name == tree.name
    )
