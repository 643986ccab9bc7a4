# mypy: disable-error-code="no-untyped-call, untyped-decorator, call-arg"
"""Native code for the search: compiles copies of a game's rules and of the kernel, and caches them
on disk.

`compile_game` copies the marked functions of a game's module and the functions of
`engine.search.kernel`, puts the game's hooks into the globals of the kernel's copy, and has numba
compile the copies. The game's module does not change: its rules still run as plain Python. Each
copy has the digest of the rules in its name, so that an edited game never runs with old code.

A server never imports this module. Compiled code does not check indexes: a game's MAX_MOVES sets
the size of the buffers.
"""

import inspect
import operator
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from engine import jit
from engine.compiler import code_cache
from engine.compiler.inlining import template_functions
from engine.game import Game, GameFault
from engine.rules.data import load_data
from engine.rules.digest import rules_digest
from engine.rules.parts import marked_functions, namespace_of
from engine.rules.style import reachable
from engine.search import kernel
from engine.search.job import RulesChanged

CACHE = code_cache.cache_folder()
# Numba reads the variable when it is imported, and again when its environment changes.
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)

import numba  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.core.codegen import JITCodeLibrary  # noqa: E402
from numba.core.compiler import Compiler  # noqa: E402
from numba.core.compiler_machinery import register_pass  # noqa: E402
from numba.core.errors import NumbaError  # noqa: E402
from numba.core.typed_passes import NativeLowering  # noqa: E402
from numba.core.typing.templates import AbstractTemplate, infer_global  # noqa: E402
from numba.core.typing.templates import signature as types_signature  # noqa: E402
from numba.extending import (  # noqa: E402
    NativeValue,
    intrinsic,
    lower_builtin,
    models,
    overload,
    register_model,
    type_callable,
    unbox,
)

numba.config.reload_config()  # another module may have imported numba before

#: The required hooks, which the kernel calls by name.
HOOKS = ("status", "moves", "play", "no_moves_result", "key", "evaluate")

#: The optional hooks: the kernel has defaults for games without them. A template may name more of a
#: game's rules in MORE_HOOKS.
OPTIONAL_HOOKS = (
    "drawn", "repetition", "reversible", "count", "tactical", "unstable", "rank", "may_pass",
    "pass_turn", "probe", "evasions",
)  # fmt: skip

INT, WORD = types.int64, types.uint64
_I64 = ir.IntType(64)


# --- memory: one machine word per argument, because arrays would cost reference counts at each
# recursion


class Pointer(types.Type):
    """The address of 64-bit words, indexed like an array."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Pointer({dtype})")


@register_model(Pointer)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Pointer) -> None:
        super().__init__(manager, fe_type, _I64)


INTS, WORDS = Pointer(INT), Pointer(WORD)


class Memory:
    """An array of int64 or uint64, kept alive, that compiled code takes as a pointer."""

    def __init__(self, array: Any) -> None:
        if array.dtype not in (np.int64, np.uint64) or not array.flags.c_contiguous:
            raise TypeError("compiled code takes contiguous int64 or uint64 memory")
        self.array = array
        self.address = int(array.ctypes.data)
        self._numba_type_ = INTS if array.dtype == np.int64 else WORDS


@unbox(Pointer)
def _unbox_pointer(typ: Any, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    word = c.pyapi.long_as_ulonglong(address)
    c.pyapi.decref(address)
    return NativeValue(word, is_error=c.pyapi.c_api_error())


def _element_address(builder: Any, context: Any, pointer: Any, dtype: Any, index: Any) -> Any:
    """The machine address of an element."""
    address = builder.add(pointer, builder.shl(index, ir.Constant(_I64, 3)))
    return builder.inttoptr(address, context.get_value_type(dtype).as_pointer())


@intrinsic
def _store_ordered(typing_context, pointer, index, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        slot = _element_address(builder, context, arguments[0], pointer.dtype, arguments[1])
        builder.store_atomic(arguments[2], slot, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(pointer, INT, pointer.dtype), generate


@intrinsic
def _advance(typing_context, pointer, index):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.add(arguments[0], builder.shl(arguments[1], ir.Constant(_I64, 3)))

    return pointer(pointer, INT), generate


class _Item(AbstractTemplate):
    """The typing of `memory[index]` and `memory[index] = value`, which are lowered directly.

    As an overload, each would be a function compiled for each type of index and value.
    """

    def generic(self, arguments, keywords):  # type: ignore[no-untyped-def]
        pointer, *others = arguments
        if not isinstance(pointer, Pointer) or not all(
            isinstance(other, _INTEGER_TYPES) for other in others
        ):
            return None
        if len(others) == 1:
            return types_signature(pointer.dtype, pointer, INT)
        return types_signature(types.void, pointer, INT, pointer.dtype)


_INTEGER_TYPES = (types.Integer, types.Boolean)
infer_global(operator.getitem)(type("_Getitem", (_Item,), {}))
infer_global(operator.setitem)(type("_Setitem", (_Item,), {}))


@lower_builtin(operator.getitem, Pointer, INT)
def _getitem(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    pointer, index = arguments
    return builder.load(_element_address(builder, context, pointer, signature.args[0].dtype, index))


@lower_builtin(operator.setitem, Pointer, INT, types.Integer)
def _setitem(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    pointer, index, value = arguments
    builder.store(
        value, _element_address(builder, context, pointer, signature.args[0].dtype, index)
    )
    return context.get_dummy_value()


@overload(jit.at)
def _at(memory, index):  # type: ignore[no-untyped-def]
    if isinstance(memory, Pointer):
        return lambda memory, index: _advance(memory, np.int64(index))
    return None


@overload(jit.put)
def _put(memory, index, value):  # type: ignore[no-untyped-def]
    if memory == INTS:
        return lambda memory, index, value: _store_ordered(memory, np.int64(index), np.int64(value))
    return None


@intrinsic
def _prefetch(typing_context, pointer, index):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        slot = _element_address(builder, context, arguments[0], pointer.dtype, arguments[1])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [slot.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [slot.type], kind)
        is_write, locality, is_data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(instruction, [slot, is_write, locality, is_data])
        return context.get_dummy_value()

    return types.void(pointer, INT), generate


@overload(jit.prefetch)
def _prefetch_word(memory, index):  # type: ignore[no-untyped-def]
    if isinstance(memory, Pointer):
        return lambda memory, index: _prefetch(memory, np.int64(index))
    return None


# --- bits: machine instructions


def _bit_instruction(name: str) -> Any:
    @intrinsic
    def instruction(typing_context, x):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            zero_is_defined = () if name == "ctpop" else (ir.Constant(ir.IntType(1), 0),)
            return getattr(builder, name)(arguments[0], *zero_is_defined)

        return INT(WORD), generate

    return instruction


_ctpop, _cttz, _ctlz = (_bit_instruction(name) for name in ("ctpop", "cttz", "ctlz"))


@overload(jit.popcount)
def _popcount(x):  # type: ignore[no-untyped-def]
    return lambda x: _ctpop(np.uint64(x))


@overload(jit.lsb)
def _lsb(x):  # type: ignore[no-untyped-def]
    return lambda x: _cttz(np.uint64(x))


@overload(jit.msb)
def _msb(x):  # type: ignore[no-untyped-def]
    return lambda x: 63 - _ctlz(np.uint64(x))


# --- recursion


def _recursive_call(function: FunctionType, signature: Any) -> Any:
    """The function that a function with a known signature calls in place of itself.

    By default numba infers the type of a recursive call by inferring the whole function again, for
    each such call and three times over, which is most of the cost of compiling the search.
    """

    def recurse(*arguments: Any) -> Any:
        raise NotImplementedError(f"only the compiled {function.__name__} calls this")

    def typer(*arguments: Any) -> Any:
        return signature

    typer.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    type_callable(recurse)(lambda context: typer)

    @lower_builtin(recurse, *signature.args)
    def call(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        convention = context.call_conv
        status, result = convention.call_function(
            builder, builder.function, signature.return_type, signature.args, arguments
        )
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return result

    return recurse


# --- functions that only compiled code calls

#: The attribute of a copied function whose value compiles the functions that it calls.
CALLEES = "compile_callees"


class _NoEnvironment:
    """The code generator of inner code, which needs no environment."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _InnerLibrary(JITCodeLibrary):
    """The code of a function that only other compiled code calls: simplified, not yet machine code.

    It is linked into each function that Python calls, and is optimised and compiled there. By
    default numba would also optimise and compile each such function by itself, which is nearly half
    of the cost of compiling.
    """

    codegen = _NoEnvironment()

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=self._codegen._opt_level, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    """Numba's lowering from typed to LLVM code, for inner code."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> Any:
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)


class _CalleesFirst(Compiler):
    """Compiles the callees of a function, each with its one signature, and then the function.

    By default numba compiles a callee again for each literal argument, and a recursive function
    with two versions crashes when it is loaded from the cache (numba issue 6061). A function in the
    cache is not compiled, nor are its callees.
    """

    def define_pipelines(self) -> Any:
        getattr(self.state.func_id.func, CALLEES, lambda: None)()
        return super().define_pipelines()


class _InnerCompiler(_CalleesFirst):
    """Compiles a function that only other compiled code calls."""

    def define_pipelines(self) -> Any:
        for pipeline in (pipelines := super().define_pipelines()):
            pipeline.passes[:] = [
                (_InnerLowering if step is NativeLowering else step, text)
                for step, text in pipeline.passes
            ]
            pipeline._finalized = False
            pipeline.finalize()
        return pipelines


# --- compiling a game

_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _CalleesFirst,
}
#: For functions that only compiled code calls: a wrapper for Python would cost compile time.
_INNER_OPTIONS = {**_OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _InnerCompiler}


@dataclass(frozen=True)
class NativeGame:
    """The kernel compiled for one game; `function` compiles or loads a function at first use."""

    game: Game
    scope: str
    tag: str
    data: Memory
    _template: ModuleType
    _rules: Mapping[str, Any]
    _kernel: dict[str, Any]
    _ready: dict[str, Any] = field(default_factory=dict)

    def function(self, name: str) -> Any:
        """The compiled function of that name; takes seconds when it is not in the disk cache."""
        if name not in self._ready:
            self._ready[name] = self._load(name)
        return self._ready[name]

    def float_variables(self) -> list[str]:
        """The variables of compiled functions that are floating point, by line. Each is a mix-up of
        signed and unsigned numbers.

        They are found when a function is compiled, and recorded beside its code in the cache.
        """
        return sorted({*self._fresh_floats(), *code_cache.sealed_floats(CACHE, self.tag)})

    def _fresh_floats(self) -> set[str]:
        dispatchers = {**self._rules, **self._kernel}.values()
        return {line for dispatcher in dispatchers for line in _floats(dispatcher)}

    def _load(self, name: str) -> Any:
        with code_cache.locked(CACHE, self.scope):
            code_cache.discard_damaged(CACHE, self.tag)
            before = code_cache.code_files(CACHE, self.tag)
            try:
                self._compile_checked(name)
            except GameFault:
                raise
            except Exception:
                # A damaged cache may raise any exception; a defect of the rules raises again below.
                code_cache.discard(CACHE, self.tag)
                self._compile_checked(name)
            if code_cache.code_files(CACHE, self.tag) != before:
                code_cache.seal(CACHE, self.tag, self.float_variables())
                code_cache.prune(CACHE, self.scope, self.tag)
        return self._kernel[name]

    def _compile_checked(self, name: str) -> None:
        """Compiles a function; an error of numba about the rules becomes a GameFault."""
        try:
            self._compile(name)
        except NumbaError as error:
            raise GameFault(
                f"the rules of {self.game.id} do not compile: {_summary(error)}"
            ) from error

    def _compile(self, name: str) -> None:
        """Compiles or loads a function with its one signature."""
        _compile_once(
            self._kernel[name], self._template.SIGNATURES[name], int(self.game.rules.WORDS)
        )


def _compile_once(dispatcher: Any, signature: str, words: int) -> None:
    if not dispatcher.signatures:
        dispatcher.compile(_signature(signature, words))
        dispatcher.disable_compile()


def _compile_callees(
    template: ModuleType,
    name: str,
    functions: Mapping[str, Any],
    rules: Mapping[str, Any],
    words: int,
) -> None:
    """Compiles the callees of a template's function, and the recursive rules, which have their
    signature in their mark.
    """
    for rule in rules.values():
        if text := getattr(getattr(rule, "py_func", None), jit.RULE, ""):
            _compile_once(rule, text, words)
    for callee in template.CALLS.get(name, ()):
        _compile_once(functions[callee], template.SIGNATURES[callee], words)


def _floats(dispatcher: Any) -> Iterator[str]:
    """The float variables of one function, as `file:line: variable in function`; temporaries only
    if no named variable is a float.
    """
    for overloaded in getattr(dispatcher, "overloads", {}).values():
        annotation = overloaded.type_annotation
        typed = getattr(annotation, "typemap", None) or {}
        names = [name for name, typ in typed.items() if isinstance(typ, types.Float)]
        named = [name for name in names if not name.startswith(("$", "arg."))] or names
        lines = _lines_of(annotation) if named else {}
        file = os.path.basename(str(getattr(annotation, "filename", "")))
        for name in named:
            line = lines.get(name, getattr(annotation, "linenum", 0))
            yield f"{file}:{line}: {name.lstrip('$').partition('.')[0]} in {dispatcher.__name__}"


def _lines_of(annotation: Any) -> dict[str, int]:
    """The line of each variable's first assignment in a compiled function."""
    lines: dict[str, int] = {}
    for block in getattr(annotation, "blocks", {}).values():
        for step in block.body:
            name = getattr(getattr(step, "target", None), "name", None)
            if name is not None:
                lines.setdefault(name, step.loc.line)
    return lines


def compile_game(game: Game, template: ModuleType = kernel) -> NativeGame:
    """The search bound to a game's rules. It takes no time: functions are compiled or loaded at
    their first use.

    Raises RulesChanged when the game's files have changed since they were loaded.
    """
    module = sys.modules.get(getattr(game.module, "__name__", ""))
    if not isinstance(module, ModuleType) or module is not game.module:
        raise GameFault(f"the rules of {game.id} are not a module that was imported by its name")
    part = "" if template is kernel else template.__name__.rpartition(".")[2]
    scope = code_cache.scope_of(game.id, part)
    tag = code_cache.tag_of(scope, game.digest)
    rules = _compiled_rules(game, module, tag)
    namespace = {
        name: value for part in getattr(template, "PARTS", ()) for name, value in vars(part).items()
    }
    namespace.update(vars(template))
    hook_names = [*HOOKS, *OPTIONAL_HOOKS, *getattr(template, "MORE_HOOKS", ())]
    if game.rules.EXTRA_TURNS:
        hook_names.append("turn")
    hooks = {name: rules[name] for name in hook_names if name in rules}
    repeats = int(game.rules.counts_repetitions)
    namespace.update(hooks, MAX_MOVES=int(game.rules.MAX_MOVES), REPEATS=repeats)
    namespace.update(
        HAS_TACTICAL=int("tactical" in rules),
        HAS_UNSTABLE=int("unstable" in rules),
        HAS_PROBE=int("probe" in rules),
    )
    namespace.update(MARGIN=game.rules.MARGIN, EXTRA_TURNS=int(game.rules.EXTRA_TURNS))
    inner = _inner_functions(template)
    functions = {name: f for name, f in template_functions(template).items() if name not in hooks}
    signatures = {
        name: _signature(text, int(game.rules.WORDS)) for name, text in template.SIGNATURES.items()
    }
    namespaces = _namespaces(functions, signatures, namespace)
    for name, function in functions.items():
        copy = _copy(function, namespaces[name], tag)
        words = int(game.rules.WORDS)
        setattr(copy, CALLEES, partial(_compile_callees, template, name, namespace, rules, words))
        is_inner = name in inner
        options = _INNER_OPTIONS if is_inner else _OPTIONS
        namespace[name] = numba.njit(cache=not is_inner, **options)(copy)
    _fill_namespaces(namespaces, namespace)
    data = Memory(load_data(game))
    digest = rules_digest(module)
    if digest != game.digest:  # the module was read earlier than these files
        raise RulesChanged(
            f"the files of {game.id} have changed since they were loaded: "
            f"{game.digest} became {digest}"
        )
    return NativeGame(game, scope, tag, data, template, rules, namespace)


def _compiled_rules(game: Game, module: ModuleType, tag: str) -> dict[str, Any]:
    """The names of the module, with compiled copies in place of the marked functions."""
    namespace = namespace_of(module)
    defined = [*HOOKS, *(name for name in OPTIONAL_HOOKS if getattr(game.rules, name) is not None)]
    if game.rules.EXTRA_TURNS:
        defined.append("turn")
    rules = marked_functions(namespace)
    missing = [name for name in defined if name not in rules]
    if missing:
        raise GameFault(f"{module.__name__} has no @rule on {', '.join(missing)}")
    texts = {name: str(getattr(f, jit.RULE)) for name, f in rules.items()}
    _check_recursive_signatures(rules, texts)
    signatures = {
        name: _signature(text, int(namespace["WORDS"])) for name, text in texts.items() if text
    }
    namespaces = _namespaces(rules, signatures, namespace)
    for name, function in rules.items():
        namespace[name] = numba.njit(**_INNER_OPTIONS)(_copy(function, namespaces[name], tag))
    _fill_namespaces(namespaces, namespace)
    return namespace


def _namespaces(
    functions: Mapping[str, FunctionType], signatures: Mapping[str, Any], namespace: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """The globals of each function's copy.

    They are the common ones, except that a recursive function has its own, where its name is that
    of its `_recursive_call`.
    """
    return {
        name: {name: _recursive_call(f, signatures[name])}
        if name in f.__code__.co_names and name in signatures
        else namespace
        for name, f in functions.items()
    }


def _fill_namespaces(
    namespaces: Mapping[str, dict[str, Any]], namespace: Mapping[str, Any]
) -> None:
    """Adds the common globals to those of the recursive functions."""
    for space in namespaces.values():
        if space is not namespace:
            space.update({name: value for name, value in namespace.items() if name not in space})


def _check_recursive_signatures(
    rules: Mapping[str, FunctionType], texts: Mapping[str, str]
) -> None:
    """Raises GameFault for a recursive rule without a signature.

    Numba would crash when it loads such a rule from the cache, or never finish compiling it.
    """
    calls = {name: {*f.__code__.co_names} & {*rules} for name, f in rules.items()}
    for name, f in rules.items():
        if not texts[name] and name in reachable(name, calls):
            line = f"{f.__code__.co_filename}:{f.__code__.co_firstlineno}"
            raise GameFault(
                f'{line}: {name} calls itself: give its signature, such as @rule("i8(state, i8)")'
            )


def _inner_functions(template: ModuleType) -> set[str]:
    """The functions of a template that only its other functions call."""
    return {callee for callees in template.CALLS.values() for callee in callees}


def _copy(function: FunctionType, namespace: dict[str, Any], tag: str) -> FunctionType:
    """A function with the same code, other globals, and its own name for the cache file."""
    copy = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    copy.__qualname__ = f"{function.__name__}.{tag}"
    copy.__module__ = function.__module__
    copy.__dict__.update(function.__dict__)
    return copy


def _types(words: int) -> dict[str, Any]:
    return {
        "state": types.UniTuple(WORD, words),
        "i8": INT,
        "u8": WORD,
        "i8*": INTS,
        "u8*": WORDS,
        "b1": types.boolean,
        "void": types.void,
    }


def _signature(text: str, words: int) -> Any:
    """The numba types of a signature such as `i8(state, i8*)`; its words are those of `_types`."""
    known = _types(words)
    result, _, arguments = text.replace(" ", "").removesuffix(")").partition("(")
    try:
        return known[result](*(known[name] for name in arguments.split(",") if name))
    except KeyError as error:
        raise GameFault(f"signature {text!r}: {error} is not one of {', '.join(known)}") from error


def _summary(error: Exception) -> str:
    """The first lines of numba's message, which name the fault."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " | ".join(lines[:6])[:600]
