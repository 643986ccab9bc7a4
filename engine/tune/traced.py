# mypy: disable-error-code="no-untyped-call, untyped-decorator, call-arg"
"""DATA that logs which of its numbers are read; compiled rules take it in place of the pointer.

The log shows on which numbers an evaluation depends in a position, so a game needs no second
description of its features.
"""

import operator
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, make_attribute_wrapper, models, overload, register_model

from engine import jit
from engine.compiler.intrinsics import INT, INTS

#: The words of a log: the count of numbers that were read, the mark of this evaluation, the size of
#: DATA, and the first index read. After the indexes follows, for each number of DATA, the mark of
#: the evaluation that read it last.
COUNT, MARK, SIZE, FIRST_INDEX = 0, 1, 2, 3


def log_words(size: int) -> int:
    """The length of the log in words, for DATA of `size` words."""
    return FIRST_INDEX + 2 * size


def new_log(size: int) -> Any:
    """An empty log for DATA of `size` words."""
    log = np.zeros(log_words(size), np.int64)
    log[SIZE] = size
    return log


class TracedType(types.Type):
    """DATA, its log, and the offset of index 0."""

    def __init__(self) -> None:
        super().__init__(name="Traced")


TRACED = TracedType()


@register_model(TracedType)
class _TracedModel(models.StructModel):
    def __init__(self, manager: Any, fe_type: TracedType) -> None:
        super().__init__(manager, fe_type, [("data", INTS), ("log", INTS), ("offset", INT)])


for _name in ("data", "log", "offset"):
    make_attribute_wrapper(TracedType, _name, _name)


@intrinsic
def _traced(typing_context, data, log, offset):  # type: ignore[no-untyped-def]
    """DATA as rules receive it, whose reads are logged."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        made = cgutils.create_struct_proxy(TRACED)(context, builder)
        made.data, made.log, made.offset = arguments
        return made._getvalue()

    return TRACED(INTS, INTS, INT), generate


#: Compiled code calls `traced(data, log, 0)`; numba supplies the first parameter.
traced: Any = _traced


def _read(memory, index):  # type: ignore[no-untyped-def]
    log = memory.log
    place = memory.offset + np.int64(index)
    mark_at = FIRST_INDEX + log[SIZE] + place
    if log[mark_at] != log[MARK]:
        log[mark_at] = log[MARK]
        log[FIRST_INDEX + log[COUNT]] = place
        log[COUNT] += 1
    return memory.data[place]


@overload(operator.getitem)
def _getitem(memory, index):  # type: ignore[no-untyped-def]
    return _read if isinstance(memory, TracedType) else None


@overload(jit.at)
def _at(memory, index):  # type: ignore[no-untyped-def]
    if isinstance(memory, TracedType):
        return lambda memory, index: traced(
            memory.data, memory.log, memory.offset + np.int64(index)
        )
    return None
