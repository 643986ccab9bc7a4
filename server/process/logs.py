"""Sets up logging to standard error: readable lines on a terminal, JSON elsewhere."""

import contextlib
import io
import logging
import os
import sys
from typing import TextIO, cast

import structlog
from aiohttp.http_exceptions import HttpProcessingError
from structlog.typing import EventDict, Processor, WrappedLogger

#: The field of an entry with a sentence for a person who starts the server on a terminal. It stands
#: there in place of the entry, and nowhere else.
SENTENCE = "sentence"


class _Stderr(io.TextIOBase):
    """Standard error whose writes never raise: a full disk or a closed pipe loses lines."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        return len(text)


stderr = _Stderr()


def log_to_stderr(level: str) -> None:
    """Logs readable lines on a terminal and JSON elsewhere.

    An entry may have a `sentence`, which stands for it on a terminal.
    """
    is_console = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(
                fmt="%H:%M:%S" if is_console else "iso", utc=not is_console
            ),
            *([] if is_console else [structlog.processors.format_exc_info]),
            _sentence_or(structlog.dev.ConsoleRenderer())
            if is_console
            else _without_sentence(structlog.processors.JSONRenderer()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, stderr)),
        # Without it a debug line that is filtered out costs 4 us, and every move has one.
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=logging.WARNING, stream=stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("websockets").setLevel(logging.ERROR)
    logging.getLogger("aiohttp.server").addFilter(_is_server_error)


def _sentence_or(render: Processor) -> Processor:
    """Renders an entry as its sentence, or as `render` does if it has none."""

    def line(logger: WrappedLogger, method: str, entry: EventDict) -> object:
        return entry[SENTENCE] if SENTENCE in entry else render(logger, method, entry)

    return cast(Processor, line)


def _without_sentence(render: Processor) -> Processor:
    """Renders an entry without its sentence."""

    def line(logger: WrappedLogger, method: str, entry: EventDict) -> object:
        entry.pop(SENTENCE, None)
        return render(logger, method, entry)

    return cast(Processor, line)


def log_compile_error(game_id: str, step: str, error: Exception) -> None:
    """Logs that a step of a game is not compiled; the error says why and whether it is repeated."""
    structlog.get_logger().error("game not compiled", game=game_id, step=step, error=str(error))


def _is_server_error(record: logging.LogRecord) -> bool:
    """Whether a log record of aiohttp is about an error of the server.

    aiohttp also logs a traceback for each request that is cut short or is not HTTP.
    """
    return record.exc_info is None or not isinstance(
        record.exc_info[1], HttpProcessingError | ConnectionError
    )
