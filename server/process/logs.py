"""Where log lines go: to standard error, for people on a terminal and for machines elsewhere."""

import contextlib
import io
import logging
import os
import sys
from typing import TextIO, cast

import structlog
from aiohttp.http_exceptions import HttpProcessingError


class _Stderr(io.TextIOBase):
    """Standard error for a log that must not end the server: what a full disk or closed pipe does
    not take is lost.
    """

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        return len(text)


stderr = _Stderr()


def log_to_stderr(level: str) -> None:
    """Lines for people on a terminal, JSON for machines elsewhere."""
    console = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if console else "iso", utc=not console),
            *([] if console else [structlog.processors.format_exc_info]),
            structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, stderr)),
    )
    logging.basicConfig(
        level=logging.WARNING, stream=stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("websockets").setLevel(logging.ERROR)
    logging.getLogger("aiohttp.server").addFilter(_is_our_fault)


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Not when a client's bytes are no HTTP, or end too soon: aiohttp logs each of those with a
    traceback.
    """
    return record.exc_info is None or not isinstance(
        record.exc_info[1], HttpProcessingError | ConnectionError
    )
