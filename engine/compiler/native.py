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

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaError
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

from engine import jit
from engine.compiler import code_cache
from engine.compiler.code_cache import NotCached
from engine.compiler.inlining import template_functions
from engine.compiler.intrinsics import INT, INTS, WORD, WORDS, Memory, recursive_call
from engine.game import Game, GameFault
from engine.rules.contract import HOOKS, OPTIONAL_HOOKS
from engine.rules.data import load_data
from engine.rules.digest import rules_digest
from engine.rules.parts import marked_functions, namespace_of
from engine.rules.style import reachable
from engine.search import kernel
from engine.search.job import RulesChanged

CACHE = code_cache.code_folder()
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)
numba.config.reload_config()  # numba has read its environment before

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


#: What the operators of numbers return, by numba's type of the operator and those of its arguments.
_operator_signatures: dict[tuple[Any, ...], Any] = {}


class _TypingContext:
    """Numba's typing context. It resolves an operator of numbers once for the same types.

    Numba would try all that the operator does with lists, texts and arrays at each place anew,
    which is a tenth of the compilation.
    """

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """The signature of a function for arguments of these types."""
        operator = getattr(function, "typing_key", None)
        is_of_numbers = all(isinstance(kind, types.Number | types.Boolean) for kind in arguments)
        if keywords or not is_of_numbers or getattr(operator, "__module__", "") != "_operator":
            return self._context.resolve_function_type(function, arguments, keywords)
        key = function, *arguments
        signature = _operator_signatures.get(key)
        # The type of an operator, of which numba keeps weak references, knows what it has resolved.
        if signature is None or signature.args not in function._impl_keys:
            signature = self._context.resolve_function_type(function, arguments, keywords)
            _operator_signatures[key] = signature
        return signature


@register_pass(mutates_CFG=True, analysis_only=False)
class _TypeInference(NopythonTypeInference):
    """Numba's type inference with the operators of numbers resolved once."""

    _name = "type_inference_of_numbers"

    def run_pass(self, state: Any) -> Any:
        context = state.typingctx
        state.typingctx = _TypingContext(context)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


class _CalleesFirst(Compiler):
    """Compiles the callees of a function, each with its one signature, and then the function.

    By default numba compiles a callee again for each literal argument, and a recursive function
    with two versions crashes when it is loaded from the cache (numba issue 6061). A function in the
    cache is not compiled, nor are its callees. Where the process may only load code, it raises
    NotCached: numba finds no code of its own in a cache that another processor or Python filled.
    """

    def define_pipelines(self) -> Any:
        if code_cache.access() is code_cache.Access.LOAD:
            raise NotCached(f"numba has no code of {self.state.func_id.func_name} in its cache")
        getattr(self.state.func_id.func, CALLEES, lambda: None)()
        idle = _idle_passes(self.state.func_id.func)
        others = {NopythonTypeInference: _TypeInference, **dict.fromkeys(idle)}
        return _replace_passes(super().define_pipelines(), others)


class _InnerCompiler(_CalleesFirst):
    """Compiles a function that only other compiled code calls."""

    def define_pipelines(self) -> Any:
        return _replace_passes(super().define_pipelines(), {NativeLowering: _InnerLowering})


def _idle_passes(function: FunctionType) -> list[type]:
    """The passes of numba's compiler that would leave a function as it is.

    Numba analyses all variables anew around each pass: these two cost a tenth of the compilation.
    Functions of numbers have no arrays whose expressions could be fused. Only a nested function,
    which most comprehensions are too, and `functools.reduce` are inlined.
    """
    code = function.__code__
    has_nested = any(isinstance(constant, CodeType) for constant in code.co_consts)
    reduces = (
        "reduce",
        *(name for name in code.co_names if function.__globals__.get(name) is reduce),
    )
    if has_nested or {*reduces} & {*code.co_names}:
        return [NopythonRewrites]
    return [NopythonRewrites, InlineClosureLikes]


def _replace_passes(pipelines: list[Any], others: Mapping[type, type | None]) -> list[Any]:
    """Puts other passes in place of some, or none; returns the pipelines."""
    for pipeline in pipelines:
        pipeline.passes[:] = [
            (other, text)
            for step, text in pipeline.passes
            if (other := others.get(step, step)) is not None
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
        """Loads a function from the cache or compiles it, as `code_cache.access` allows.

        Raises NotCached where the process may only load and the cache does not hold the code, and
        CacheBusy where it may not wait for a lock. Only a process that compiles holds the lock
        alone, so that none that loads is in the way of another.
        """
        code_cache.mark_used(CACHE)
        try:
            with (
                code_cache.locked(CACHE, self.scope, is_shared=True),
                code_cache.with_access(code_cache.Access.LOAD),
            ):
                self._load_intact(name)
            return self._kernel[name]
        except NotCached:
            if code_cache.access() is code_cache.Access.LOAD:
                raise
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

    def _load_intact(self, name: str) -> None:
        """Loads a function if the seal confirms its files; raises NotCached if it cannot."""
        if not code_cache.is_intact(CACHE, self.tag):
            raise NotCached(f"the cache has no intact code of {self.tag}")
        try:
            self._compile(name)
        except NotCached:
            raise
        except Exception as error:  # damaged pickles may raise any exception
            raise NotCached(f"the code of {self.tag} cannot be loaded: {error}") from error

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
    of its `recursive_call`.
    """
    return {
        name: {name: recursive_call(f, signatures[name])}
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
    """The functions of a template that only its other functions call: those that they compile
    first, and those that have no signature by which Python could, such as the default hooks.
    """
    callees = {callee for callees in template.CALLS.values() for callee in callees}
    return callees | (set(template_functions(template)) - set(template.SIGNATURES))


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
