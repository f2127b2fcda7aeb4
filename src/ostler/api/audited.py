"""Deeds and their lines in the audit log: who, what, to what, from where, with which outcome.

A *deed* is a request that is no mere read, or one of `AUDITED_READS`. It is answered once its line is
durable: with its change, or by itself. Refusals and failures have lines too; when nobody known is refused, or
the same again and again, only some of them, so that no stranger fills the disk. Nothing that was sent stands
in a line but names of fields.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

import structlog
from starlette.datastructures import Headers
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostler.api.caller import Caller
from ostler.api.client_address import Network, client_address
from ostler.api.error_table import store_unavailable
from ostler.api.json_body import FIELDS
from ostler.api.limits import Quota, Windows, site_of
from ostler.api.problems import PROBLEM, Problem, problem_answer
from ostler.clock import Clock
from ostler.store.audit_log import AuditEntry, AuditOutcome, Means
from ostler.store.database import StoreUnavailable
from ostler.telemetry.metrics import Metrics
from ostler.telemetry.printable import printable
from ostler.usecases.audit import AuditLog, Deed, doing

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# what is read only to be kept from others, and the status of having read it
AUDITED_READS: Mapping[str, int] = {
    "GET /api/instances/{instance_id}/credentials": 200,
    "GET /api/webhooks/secret": 200,
    "GET /login": 303,  # by a link that works once
}
_LAST_PARTS = frozenset(row.rpartition("/")[2] for row in AUDITED_READS)
MEANS = "means"  # in a request's state: by what its caller came in
_NOWHERE = "?"
_TARGETS = {
    "instance_id": "instance",
    "job_id": "job",
    "key_id": "key",
    "endpoint_id": "webhook",
    "delivery_id": "delivery",
    "novita_id": "upstream",
    "name": "cache",
}
_SANE_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_SANE_FIELD = re.compile(r"[A-Za-z]{1,40}")
_LONGEST_READ, _LONGEST_TOLD = 1000, 200
_HOUR_MS = 3_600_000
_OF_ONE, _OF_ALL = 60, 600  # lines an hour about those who only knock
_KNOCKING = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class Manner:
    """What lines are made with; `redact` takes secrets out of what clients chose."""

    clock: Clock
    metrics: Metrics
    redact: Callable[[str], str]
    trusted: Sequence[Network] = ()


class Journal:
    """Makes lines of requests. One per process."""

    def __init__(self, log: AuditLog, manner: Manner) -> None:
        self.log = log
        self._manner = manner
        self._of_one = Windows(Quota(_OF_ONE, _HOUR_MS), manner.clock)
        self._of_all = Windows(Quota(_OF_ALL, _HOUR_MS), manner.clock)

    def draft(self, scope: Scope) -> AuditEntry:
        """Return the line of a request as if it went well."""
        state = scope["state"]
        caller = state.get("caller")
        assert caller is None or isinstance(caller, Caller)
        route, parameters = _found(scope)
        action = f"{scope['method']} {_NOWHERE if route is None else route.path}"
        kind, target = self._target({} if caller is None else parameters)  # a stranger names nothing of ours
        return AuditEntry(
            at=self._manner.clock.now(),
            request_id=self._told(state["request_id"]),
            means=state.get(MEANS, Means.NONE),
            key_id=None if caller is None else caller.key_id,
            key_name=None if caller is None else caller.name,
            role=None if caller is None else caller.role.value,
            address=client_address(scope, self._manner.trusted),
            user_agent=self._told(Headers(scope=scope).get("user-agent", "")),
            action=action,
            target_kind=kind,
            target_id=target,
            project=None if caller is None else caller.project,
            fields=[name for name in state.get(FIELDS, ()) if _SANE_FIELD.fullmatch(name)],
            outcome=AuditOutcome.DONE,
            status=AUDITED_READS.get(action) or getattr(route, "status_code", None) or HTTPStatus.OK,
        )

    async def sign(self, deed: Deed, scope: Scope, status: int) -> Problem | None:
        """See to it that a deed has its line; return why it must not be answered yet, if it has none."""
        outcome = _outcome(status)
        if deed.signed is not None and outcome is AuditOutcome.DONE:
            self._manner.metrics.record_audit(outcome)
            return None
        entry = replace(deed.entry(), outcome=outcome, status=status)
        if outcome is not AuditOutcome.DONE:
            await self._note(replace(entry, fields=(), code=scope["state"].get(PROBLEM)))
            return None
        try:
            await self.log.record(entry)
        except StoreUnavailable as error:
            return store_unavailable(error)
        self._manner.metrics.record_audit(outcome)
        return None

    def _told(self, text: str) -> str:
        """Return what a client chose to call something, as it may stand in a line."""
        return self._manner.redact(printable(text[:_LONGEST_READ]))[:_LONGEST_TOLD]

    def _target(self, parameters: Mapping[str, object]) -> tuple[str, str] | tuple[None, None]:
        """Return the kind and id of what a path names, unless it is no id that we could have made."""
        for name in _TARGETS.keys() & parameters.keys():
            found = str(parameters[name])
            if _SANE_ID.fullmatch(found) and self._manner.redact(found) == found:
                return _TARGETS[name], found
        return None, None

    async def note_wrong_key(self, scope: Scope, problem: Problem) -> None:
        """Write the line of a read that was tried with a wrong key."""
        if not is_deed(scope):  # else it has its line anyway
            entry = replace(self.draft(scope), outcome=AuditOutcome.REFUSED)
            await self._note(replace(entry, status=problem.status, code=problem.code))

    async def _note(self, entry: AuditEntry) -> None:
        """Write a line of what came to nothing; the answer does not depend on it."""
        if self._is_noise(entry):
            self._manner.metrics.record_audit("thinned")
            return
        try:
            await self.log.record(entry)
        except StoreUnavailable:
            self._manner.metrics.record_audit("lost")
            _log.warning("a line of the audit log was lost", action=entry.action, status=entry.status)
        else:
            self._manner.metrics.record_audit(entry.outcome)

    def _is_noise(self, entry: AuditEntry) -> bool:
        if entry.key_id is not None and entry.status not in _KNOCKING:
            return False
        who = entry.key_id or site_of(entry.address)
        return not (self._of_one.take(who).is_allowed and self._of_all.take("all").is_allowed)


class Audited:
    """The ASGI layer around the doors."""

    def __init__(self, app: ASGIApp, journal: Journal, clock: Clock) -> None:
        self._app = app
        self._journal = journal
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_deed(scope):
            await self._app(scope, receive, send)
            return
        deed = Deed(lambda: self._journal.draft(scope))
        is_withheld = False

        async def send_signed(message: Message) -> None:
            nonlocal is_withheld
            if message["type"] == "http.response.start":
                problem = await self._journal.sign(deed, scope, message["status"])
                if problem is not None:
                    is_withheld = True
                    await problem_answer(problem, scope, self._clock.now())(scope, receive, send)
            if not is_withheld:
                await send(message)

        with doing(deed):
            try:
                await self._app(scope, receive, send_signed)
            except Exception:
                await self._journal.sign(deed, scope, HTTPStatus.INTERNAL_SERVER_ERROR)
                raise


def is_deed(scope: Scope) -> bool:
    """Tell whether a request is to have its line."""
    if scope["method"] not in SAFE_METHODS:
        return True
    last = scope["path"].rpartition("/")[2]
    if scope["method"] != "GET" or last not in _LAST_PARTS:
        return False
    return scope["path"] != "/login" or b"token=" in scope["query_string"]


def _found(scope: Scope) -> tuple[Route | None, Mapping[str, object]]:
    """Return the route of a request, also of one that was refused before any was looked for."""
    if "route" in scope:
        return scope["route"], scope["path_params"]
    for route in scope["app"].state.own_routes:
        match, child = route.matches(scope)
        if match is Match.FULL:
            return route, child["path_params"]
    return None, {}


def _outcome(status: int) -> AuditOutcome:
    if status < HTTPStatus.BAD_REQUEST:
        return AuditOutcome.DONE
    return AuditOutcome.REFUSED if status < HTTPStatus.INTERNAL_SERVER_ERROR else AuditOutcome.FAILED
