# mypy: disable-error-code="no-untyped-call, untyped-decorator, call-arg"
"""Native code for the search: compiles copies of a game's rules and of the kernel, and keeps them
on disk.

`compile_game` copies the marked functions of a game's module and the functions of
`engine.search.kernel`, puts the game's hooks into the globals of the kernel's copy and lets numba
compile that. Nothing in the game's module changes: compiled and uncompiled rules live side by side.
A copy carries the rules' digest in its name, so that an edited game never meets old code.

Only this module, `engine.compiler.native_lanes` and `engine.tune.traced` import numba; a server
never imports this module. Compiled code does not check indexes: MAX_MOVES of a game sizes the
buffers.
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
from engine.game import Game, GameFault
from engine.rules.data import load_data
from engine.rules.digest import rules_digest
from engine.rules.parts import marked, names_of
from engine.rules.style import reachable
from engine.search import kernel
from engine.search.job import RulesChanged

CACHE = code_cache.cache_folder()
os.environ["NUMBA_CACHE_DIR"] = str(
    CACHE
)  # numba reads it when it is imported, and again when its environment changes

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

numba.config.reload_config()  # somebody may have imported numba before us

#: The rules that the kernel calls by name.
HOOKS = ("status", "moves", "play", "no_moves_result", "key", "evaluate")

#: The same, where the kernel has its own for a game that leaves them out. A template may name
#: others of a game's rules in MORE_HOOKS.
OPTIONAL_HOOKS = (
    "drawn", "repetition", "reversible", "count", "tactical", "unstable", "rank", "may_pass", "pass_turn",
    "probe", "evasions",
)  # fmt: skip

INT, WORD = types.int64, types.uint64
_I64 = ir.IntType(64)


# --- memory: one machine word per argument and no reference counts, which arrays cost at each level of a recursion


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
    """An array of int64 or uint64 that compiled code takes as a pointer; keeps the array alive."""

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


def _slot(builder: Any, context: Any, pointer: Any, dtype: Any, index: Any) -> Any:
    """The machine address of an element."""
    address = builder.add(pointer, builder.shl(index, ir.Constant(_I64, 3)))
    return builder.inttoptr(address, context.get_value_type(dtype).as_pointer())


@intrinsic
def _store_ordered(typing_context, pointer, index, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        slot = _slot(builder, context, arguments[0], pointer.dtype, arguments[1])
        builder.store_atomic(arguments[2], slot, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(pointer, INT, pointer.dtype), generate


@intrinsic
def _advance(typing_context, pointer, index):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.add(arguments[0], builder.shl(arguments[1], ir.Constant(_I64, 3)))

    return pointer(pointer, INT), generate


class _Item(AbstractTemplate):
    """`memory[index]` and `memory[index] = value`, typed and lowered at once.

    As an overload each would be a function of its own, compiled for each type of index and value.
    """

    def generic(self, arguments, keywords):  # type: ignore[no-untyped-def]
        pointer, *others = arguments
        if not isinstance(pointer, Pointer) or not all(
            isinstance(other, _WHOLE) for other in others
        ):
            return None
        if len(others) == 1:
            return types_signature(pointer.dtype, pointer, INT)
        return types_signature(types.void, pointer, INT, pointer.dtype)


_WHOLE = (types.Integer, types.Boolean)
infer_global(operator.getitem)(type("_Getitem", (_Item,), {}))
infer_global(operator.setitem)(type("_Setitem", (_Item,), {}))


@lower_builtin(operator.getitem, Pointer, INT)
def _getitem(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    pointer, index = arguments
    return builder.load(_slot(builder, context, pointer, signature.args[0].dtype, index))


@lower_builtin(operator.setitem, Pointer, INT, types.Integer)
def _setitem(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    pointer, index, value = arguments
    builder.store(value, _slot(builder, context, pointer, signature.args[0].dtype, index))
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
        slot = _slot(builder, context, arguments[0], pointer.dtype, arguments[1])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [slot.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [slot.type], kind)
        read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(instruction, [slot, read, keep, data])
        return context.get_dummy_value()

    return types.void(pointer, INT), generate


@overload(jit.prefetch)
def _prefetch_word(memory, index):  # type: ignore[no-untyped-def]
    if isinstance(memory, Pointer):
        return lambda memory, index: _prefetch(memory, np.int64(index))
    return None


# --- bits: the machine's own instructions


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


def _itself(function: FunctionType, signature: Any) -> Any:
    """What a function with a known signature calls to call itself.

    Left to itself numba finds the result of a recursive call by going through the types of the
    whole function once more, for each such call and three times over: most of what compiling the
    search would cost.
    """

    def again(*arguments: Any) -> Any:
        raise NotImplementedError(f"only the compiled {function.__name__} calls this")

    def typer(*arguments: Any) -> Any:
        return signature

    typer.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    type_callable(again)(lambda context: typer)

    @lower_builtin(again, *signature.args)
    def call(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        convention = context.call_conv
        status, result = convention.call_function(
            builder, builder.function, signature.return_type, signature.args, arguments
        )
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return result

    return again


# --- what is called by compiled code only

#: The attribute of a copied function that compiles what it calls first.
CALLEES = "compile_callees"


class _NoEnvironment:
    """Stands for the code generator of a part: nothing is set for code that does not run by itself."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _Part(JITCodeLibrary):
    """The code of a function that only other compiled code calls: made smaller, and no more.

    It is linked into each function that Python calls, and optimised and made into machine code
    there. Left to itself numba does both for each function alone as well, and for all that it
    calls: nearly half of what compiling costs.
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
class _PartLowering(NativeLowering):
    """Numba's own step from typed to LLVM code, for a part."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> Any:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)


class _Whole(Compiler):
    """Compiles a function after those that it calls, each of these with the one signature that it
    has.

    Left to itself numba compiles a callee again for each literal argument; a recursive function
    with two versions crashes when it comes from the cache (numba issue 6061). Nothing of this
    happens when the function is in the cache.
    """

    def define_pipelines(self) -> Any:
        getattr(self.state.func_id.func, CALLEES, lambda: None)()
        return super().define_pipelines()


class _Inner(_Whole):
    """Compiles a part."""

    def define_pipelines(self) -> Any:
        for pipeline in (found := super().define_pipelines()):
            pipeline.passes[:] = [
                (_PartLowering if step is NativeLowering else step, text)
                for step, text in pipeline.passes
            ]
            pipeline._finalized = False
            pipeline.finalize()
        return found


# --- compiling a game

_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _Whole,
}
#: For what only compiled code calls: an entry for Python would cost its own compile time.
_INNER_OPTIONS = {**_OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _Inner}


@dataclass(frozen=True)
class NativeGame:
    """The kernel compiled for one game. `function` gives its functions by name, compiled at the
    first call.
    """

    game: Game
    scope: str
    tag: str
    data: Memory
    _template: ModuleType
    _rules: Mapping[str, Any]
    _kernel: dict[str, Any]
    _ready: dict[str, Any] = field(default_factory=dict)

    def function(self, name: str) -> Any:
        """The compiled function of that name; takes seconds when it is not in the cache on disk."""
        if name not in self._ready:
            self._ready[name] = self._load(name)
        return self._ready[name]

    def float_typed(self) -> list[str]:
        """Variables that are floating point in compiled functions, by line: always a slip between
        signed and unsigned.

        It is seen when a function is compiled, and written down beside the code in the cache.
        """
        return sorted({*self._fresh_floats(), *code_cache.sealed_floats(CACHE, self.tag)})

    def _fresh_floats(self) -> set[str]:
        dispatchers = {**self._rules, **self._kernel}.values()
        return {told for dispatcher in dispatchers for told in _floats(dispatcher)}

    def _load(self, name: str) -> Any:
        with code_cache.locked(CACHE, self.scope):
            code_cache.discard_damaged(CACHE, self.tag)
            before = code_cache.code_files(CACHE, self.tag)
            try:
                self._compile_checked(name)
            except GameFault:
                raise
            except (
                Exception
            ):  # whatever reading a damaged cache may raise; a defect of the rules raises once more
                code_cache.discard(CACHE, self.tag)
                self._compile_checked(name)
            if code_cache.code_files(CACHE, self.tag) != before:
                code_cache.seal(CACHE, self.tag, self.float_typed())
                code_cache.prune(CACHE, self.scope, self.tag)
        return self._kernel[name]

    def _compile_checked(self, name: str) -> None:
        """What numba has against the rules becomes a GameFault."""
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
    """What a function of the template calls, and the rules that were marked with a signature
    because they call themselves.
    """
    for rule in rules.values():
        if text := getattr(getattr(rule, "py_func", None), jit.RULE, ""):
            _compile_once(rule, text, words)
    for callee in template.CALLS.get(name, ()):
        _compile_once(functions[callee], template.SIGNATURES[callee], words)


def _floats(dispatcher: Any) -> Iterator[str]:
    """The float variables of one function, those with a name if there are any: `file:line: variable
    in function`.
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
    """Where each variable of a compiled function is assigned first."""
    lines: dict[str, int] = {}
    for block in getattr(annotation, "blocks", {}).values():
        for step in block.body:
            name = getattr(getattr(step, "target", None), "name", None)
            if name is not None:
                lines.setdefault(name, step.loc.line)
    return lines


def compile_game(game: Game, template: ModuleType = kernel) -> NativeGame:
    """The search bound to a game's rules; cheap by itself: functions are compiled or loaded when
    they are asked for.

    RulesChanged when the game's files are no longer those that the game was loaded from.
    """
    module = sys.modules.get(getattr(game.rules, "__name__", ""))
    if not isinstance(module, ModuleType) or module is not game.rules:
        raise GameFault(f"the rules of {game.id} are not a module that was imported by its name")
    part = "" if template is kernel else template.__name__.rpartition(".")[2]
    scope = code_cache.scope_of(game.id, part)
    tag = code_cache.tag_of(scope, game.digest)
    rules = _compiled_rules(module, tag)
    namespace = {
        name: value for part in getattr(template, "PARTS", ()) for name, value in vars(part).items()
    }
    namespace.update(vars(template))
    wanted = (*HOOKS, *OPTIONAL_HOOKS, *getattr(template, "MORE_HOOKS", ()))
    hooks = {name: rules[name] for name in wanted if name in rules}
    repeats = int(game.repetition_times != 0 or game.claim_repetition != 0)
    namespace.update(hooks, MAX_MOVES=int(game.rules.MAX_MOVES), REPEATS=repeats)
    namespace.update(
        HAS_TACTICAL=int("tactical" in rules),
        HAS_UNSTABLE=int("unstable" in rules),
        HAS_PROBE=int("probe" in rules),
    )
    namespace.update(MARGIN=int(getattr(module, "MARGIN", 0)))
    inner = _inner(template)
    functions = {name: f for name, f in _own_functions(template).items() if name not in hooks}
    signatures = {
        name: _signature(text, int(game.rules.WORDS)) for name, text in template.SIGNATURES.items()
    }
    spaces = _spaces(functions, signatures, namespace)
    for name, function in functions.items():
        copy = _copy(function, spaces[name], tag)
        words = int(game.rules.WORDS)
        setattr(copy, CALLEES, partial(_compile_callees, template, name, namespace, rules, words))
        is_inner = name in inner
        options = _INNER_OPTIONS if is_inner else _OPTIONS
        namespace[name] = numba.njit(cache=not is_inner, **options)(copy)
    _fill(spaces, namespace)
    data = Memory(load_data(game))
    found = rules_digest(module)
    if found != game.digest:  # the files are read at another time than the module was
        raise RulesChanged(
            f"the files of {game.id} have changed since they were loaded: {game.digest} became {found}"
        )
    return NativeGame(game, scope, tag, data, template, rules, namespace)


def _compiled_rules(module: ModuleType, tag: str) -> dict[str, Any]:
    """Copies of the marked functions that call each other's compiled copies."""
    namespace = names_of(module)
    known = (*HOOKS, *(name for name in OPTIONAL_HOOKS if hasattr(module, name)))
    rules = marked(namespace)
    missing = [name for name in known if name not in rules]
    if missing:
        raise GameFault(f"{module.__name__} has no @rule on {', '.join(missing)}")
    texts = {name: str(getattr(f, jit.RULE)) for name, f in rules.items()}
    _refuse_unsigned_recursion(rules, texts)
    signatures = {
        name: _signature(text, int(namespace["WORDS"])) for name, text in texts.items() if text
    }
    spaces = _spaces(rules, signatures, namespace)
    for name, function in rules.items():
        namespace[name] = numba.njit(**_INNER_OPTIONS)(_copy(function, spaces[name], tag))
    _fill(spaces, namespace)
    return namespace


def _spaces(
    functions: Mapping[str, FunctionType], signatures: Mapping[str, Any], namespace: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """The globals of each function's copy: one for all, but for a function that calls itself its
    own, in which its name stands for that.
    """
    return {
        name: {name: _itself(f, signatures[name])}
        if name in f.__code__.co_names and name in signatures
        else namespace
        for name, f in functions.items()
    }


def _fill(spaces: Mapping[str, dict[str, Any]], namespace: Mapping[str, Any]) -> None:
    """Gives the functions that have globals of their own what all have."""
    for space in spaces.values():
        if space is not namespace:
            space.update({name: value for name, value in namespace.items() if name not in space})


def _refuse_unsigned_recursion(rules: Mapping[str, FunctionType], texts: Mapping[str, str]) -> None:
    """Numba would crash when it loads such a rule from the cache, or not end when it compiles it."""
    calls = {name: {*f.__code__.co_names} & {*rules} for name, f in rules.items()}
    for name, f in rules.items():
        if not texts[name] and name in reachable(name, calls):
            line = f"{f.__code__.co_filename}:{f.__code__.co_firstlineno}"
            raise GameFault(
                f'{line}: {name} calls itself: give its signature, such as @rule("i8(state, i8)")'
            )


def _inner(template: ModuleType) -> set[str]:
    """The functions that are only called by others of the template."""
    return {callee for callees in template.CALLS.values() for callee in callees}


def _own_functions(template: ModuleType) -> dict[str, FunctionType]:
    """The functions of a template and of the modules that it names in PARTS."""
    return {
        name: f
        for module in (*getattr(template, "PARTS", ()), template)
        for name, f in vars(module).items()
        if isinstance(f, FunctionType) and f.__module__ == module.__name__
    }


def _copy(function: FunctionType, namespace: dict[str, Any], tag: str) -> FunctionType:
    """The same code with other globals, and with a name of its own for the cache file."""
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
    """`i8(state, i8*)` as numba types; the words are those of `_types`."""
    known = _types(words)
    result, _, arguments = text.replace(" ", "").removesuffix(")").partition("(")
    try:
        return known[result](*(known[name] for name in arguments.split(",") if name))
    except KeyError as error:
        raise GameFault(f"signature {text!r}: {error} is none of {', '.join(known)}") from error


def _summary(error: Exception) -> str:
    """The lines of numba's message that say what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " | ".join(lines[:6])[:600]
