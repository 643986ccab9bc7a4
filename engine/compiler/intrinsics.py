# mypy: disable-error-code="no-untyped-call, untyped-decorator, call-arg"
"""What numba learns for the search: memory as one machine word, machine instructions for bits and
memory, and calls of recursive functions with a known signature.

`engine.jit` has the same operations as plain Python. Importing this module registers them with
numba.
"""

import inspect
import operator
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.core.typing.templates import signature as types_signature
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_builtin,
    models,
    overload,
    register_model,
    type_callable,
    unbox,
)

from engine import jit

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


def recursive_call(function: FunctionType, signature: Any) -> Any:
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
