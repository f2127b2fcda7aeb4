"""Structured logs on stderr: one entry per fact, JSON for machines or coloured lines for a terminal.

Our entries go straight out, those of libraries by way of the standard library, which costs three times as
much; both pass through the same processors. Ids (request, correlation, instance, operation) are
bound with `structlog.contextvars` where they become known, and stand in every entry from there on.
"""

import logging
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Literal

import orjson
import structlog

from ostler.telemetry.printable import printable_lines, printable_value
from ostler.telemetry.redaction import Redactor

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_MADE_HERE = frozenset({"level", "timestamp", "logger"})
_TEXTS = frozenset({"event", "exception"})
_OWN_FIELDS = _MADE_HERE | _TEXTS

Entry = MutableMapping[str, object]


def configure_logging(level: str, form: Literal["auto", "json", "console"], redactor: Redactor) -> None:
    """Send the logs of this process, libraries included, to stderr."""

    def redact(_logger: object, _method: str, entry: Entry) -> Entry:
        own = {name: entry[name] for name in entry if name in _MADE_HERE}
        texts = {name: redactor.value(entry[name]) for name in entry if name in _TEXTS}
        rest: dict[object, object] = {
            name: value for name, value in entry.items() if name not in _OWN_FIELDS and name[0] != "_"
        }
        return own | texts | redactor.mapping(rest)

    enrich: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    is_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    render: list[structlog.typing.Processor] = [
        redact,
        _printable,
        structlog.processors.JSONRenderer(serializer=_as_json)
        if is_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
    ]
    structlog.configure(
        processors=[*enrich, *render],
        logger_factory=_Lines,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=False,
    )
    bare = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=enrich, processors=[bare, *render])
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(_LEVELS[level])
    _quieten_libraries()


@dataclass(frozen=True, slots=True)
class _Lines:
    """Writes the entries of one logger, each as a line."""

    name: str

    def write(self, line: str) -> None:
        sys.stderr.write(line + "\n")  # in one piece: others write there, too

    debug = info = warning = error = critical = write


def _printable(_logger: object, _method: str, entry: Entry) -> Entry:
    return {
        name: printable_lines(str(value)) if name == "exception" else printable_value(value)
        for name, value in entry.items()
    }


def _quieten_libraries() -> None:
    """Leave to the libraries' loggers what is news: each request is logged by our own middleware."""
    for name in ("httpx2", "httpcore2", "uvicorn.access", "uvicorn.error", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    # an open event stream that is cut at shutdown is no error of the application
    return "ASGI callable returned without completing response" not in record.getMessage()


def _as_json(entry: object, **_options: object) -> str:
    return orjson.dumps(entry, default=str).decode()
