"""The server's log in plain text: by default every exception is drawn with all its variables, which takes seconds."""

import structlog

from tests.postgres import postgres as postgres

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
    ]
)
