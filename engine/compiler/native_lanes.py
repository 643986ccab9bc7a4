# mypy: disable-error-code="no-untyped-call, untyped-decorator, call-arg, no-untyped-def"
"""`engine.lanes` in compiled code: one vector register of four words. Importing this module
registers the type and its operations with numba.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from engine import lanes as uncompiled
from engine.compiler.intrinsics import INT, WORD, Pointer

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_I64, uncompiled.COUNT)


class LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: LanesType) -> None:
        super().__init__(manager, fe_type, _VECTOR)


LANES = LanesType()


def _constant(*words: int) -> Any:
    return ir.Constant(_VECTOR, [ir.Constant(_I64, word) for word in words])


def _vector_of(builder: Any, words: list[Any]) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for i, word in enumerate(words):
        vector = builder.insert_element(vector, word, ir.Constant(_I32, i))
    return vector


def _binary(name: str) -> Any:
    @intrinsic
    def operation(typing_context, x, y):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return LANES(LANES, LANES), generate

    return operation


_and, _or, _xor, _add, _sub, _shl, _lshr = (
    _binary(name) for name in ("and_", "or_", "xor", "add", "sub", "shl", "lshr")
)


def _register(operator_function: Any, operation: Any) -> None:
    @overload(operator_function)
    def _overloaded(x, y):
        if x == LANES and y == LANES:
            return lambda x, y: operation(x, y)
        return None


for _operator, _operation in (
    (operator.and_, _and),
    (operator.or_, _or),
    (operator.xor, _xor),
    (operator.add, _add),
    (operator.sub, _sub),
    (operator.lshift, _shl),
    (operator.rshift, _lshr),
    (operator.iand, _and),
    (operator.ior, _or),
    (operator.ixor, _xor),
):
    _register(_operator, _operation)


@intrinsic
def _not(typing_context, x):
    def generate(context, builder, signature, arguments):
        return builder.not_(arguments[0])

    return LANES(LANES), generate


@intrinsic
def _broadcast(typing_context, word):
    def generate(context, builder, signature, arguments):
        return _vector_of(builder, [arguments[0]] * uncompiled.COUNT)

    return LANES(WORD), generate


@intrinsic
def _four_words(typing_context, first, second, third, fourth):
    def generate(context, builder, signature, arguments):
        return _vector_of(builder, list(arguments))

    return LANES(WORD, WORD, WORD, WORD), generate


@intrinsic
def _load(typing_context, pointer, index):
    def generate(context, builder, signature, arguments):
        address = builder.add(arguments[0], builder.shl(arguments[1], ir.Constant(_I64, 3)))
        return builder.load(builder.inttoptr(address, _VECTOR.as_pointer()), align=8)

    return LANES(pointer, INT), generate


@intrinsic
def _nonzero(typing_context, x):
    def generate(context, builder, signature, arguments):
        return builder.sext(
            builder.icmp_unsigned("!=", arguments[0], _constant(0, 0, 0, 0)), _VECTOR
        )

    return LANES(LANES), generate


@intrinsic
def _leading_zeros(typing_context, x):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_VECTOR, [_VECTOR, ir.IntType(1)])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.ctlz.v4i64")
        return builder.call(count, [arguments[0], ir.Constant(ir.IntType(1), 1)])

    return LANES(LANES), generate


@intrinsic
def _or_of_lanes(typing_context, x):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_I64, [_VECTOR])
        reduce = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.or.v4i64")
        return builder.call(reduce, [arguments[0]])

    return WORD(LANES), generate


@overload(operator.invert)
def _invert(x):
    return (lambda x: _not(x)) if x == LANES else None


@overload(uncompiled.lanes)
def _lanes(word):
    return (lambda word: _broadcast(word)) if word == WORD else None


@overload(uncompiled.lanes_of)
def _lanes_of(first, second, third, fourth):
    return lambda first, second, third, fourth: _four_words(first, second, third, fourth)


@overload(uncompiled.lanes_at)
def _lanes_at(memory, index):
    return (
        (lambda memory, index: _load(memory, INT(index))) if isinstance(memory, Pointer) else None
    )


@overload(uncompiled.nonzero_mask)
def _nonzero_mask(x):
    return (lambda x: _nonzero(x)) if x == LANES else None


@overload(uncompiled.leading_zeros)
def _leading_zeros_of(x):
    return (lambda x: _leading_zeros(x)) if x == LANES else None


@overload(uncompiled.reduce_or)
def _reduce_or(x):
    return (lambda x: _or_of_lanes(x)) if x == LANES else None
