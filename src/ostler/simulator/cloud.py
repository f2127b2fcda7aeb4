"""The pretend *cloud*: a world with its clock, its keys and faults, its counts, and its state file.

It answers one request at a time as values (`exchange.py`); `server.py` puts it on a socket, and a test may
call it without one. What a call changes is on disk before the answer leaves.
"""

import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field

import orjson

from ostler.simulator.calls import CallBook
from ostler.simulator.clock import WorldClock, pause, wall_time
from ostler.simulator.doors import NO_DOORS, Doors
from ostler.simulator.exchange import Hangup, Outcome, Reply, Request, Silence, json_reply, refusal_reply
from ostler.simulator.face import Call
from ostler.simulator.faces.table import ROUTES
from ostler.simulator.faults import Fault, FaultBook, FaultKind
from ostler.simulator.genesis import new_world
from ostler.simulator.keys import account_of
from ostler.simulator.refusal import Refusal
from ostler.simulator.routing import Match, RouteTable
from ostler.simulator.state_file import SavedTime, StateFile
from ostler.simulator.world import Kind, World

DOORS = Kind("doors", Doors)
UNKNOWN_PATH = "unknown path"


@dataclass(slots=True)
class Cloud:
    """One pretend cloud in this process."""

    world: World
    clock: WorldClock
    state_file: StateFile | None = None
    faults: FaultBook = field(default_factory=FaultBook)
    calls: CallBook = field(default_factory=CallBook)
    table: RouteTable = field(default_factory=lambda: RouteTable(ROUTES))

    def catch_up(self) -> None:
        """Let the world reach the present."""
        self.world.advance(self.clock.time())

    def save(self) -> None:
        """Write what changed to the state file, if there is one; how late it is, too."""
        changes = self.world.take_changes(wanted=self.state_file is not None)
        if self.state_file is None or not (changes or self.clock.was_turned):
            return
        reached_at = wall_time() - self.clock.real_seconds_since(self.world.now)
        try:
            self.state_file.save(changes, SavedTime(self.world.now, reached_at, self.clock.speed))
        except sqlite3.Error:  # a full disk, say: the next save makes up for it
            self.world.keep_changes(changes)
            raise
        self.clock.was_turned = False

    def end(self) -> None:
        """Write how late it has become, for what comes after this process."""
        self.catch_up()
        self.clock.was_turned = True
        with suppress(sqlite3.Error):  # what was answered is in the file, and tells the time well enough
            self.save()

    def reset(self) -> None:
        """Begin again with a new world; the clock goes on, and instances keep their doors."""
        old = self.world
        self.world = new_world(self.clock.time(), seed=old.seed, durations=old.durations)
        if old.doors is not None:
            self.open_doors(old.doors)
        self.faults.clear()
        self.faults.reseed(old.seed)
        self.calls.reset()
        if self.state_file is not None:
            self.state_file.clear()

    def open_doors(self, doors: Doors) -> None:
        """Say where instances are reached from now on."""
        self.world.doors = doors
        self.world.put(DOORS, "", doors)

    def former_doors(self) -> Doors:
        """Return where instances were reached when the state file was last written."""
        return self.world.rows(DOORS).get("", NO_DOORS)

    async def answer(self, request: Request) -> Outcome:
        """Answer a call of the cloud's API, with whatever faults strike it."""
        match = self.table.find(request.method, request.path)
        plain = f"{request.method} {request.path}"
        key = match.key if match is not None else UNKNOWN_PATH
        with self.calls.counting(key, request.path) as record:
            struck = self.faults.draw((key, plain))
            for fault in struck:
                if fault.kind is FaultKind.LATENCY:
                    await pause(fault.seconds)
            spoiling = next((fault for fault in struck if fault.kind is not FaultKind.LATENCY), None)
            outcome = self._spoiled(request, match, spoiling)
            record.answer = _word_for(outcome)
            return outcome

    def _spoiled(self, request: Request, match: Match | None, fault: Fault | None) -> Outcome:
        if fault is None:
            return self.perform(request, match)
        if not fault.takes_effect:
            return fault.spoil(None)
        late_s = fault.seconds if fault.kind is FaultKind.LATE_IN_LISTS else 0.0
        with self.world.lag.at_least(late_s):
            return fault.spoil(self.perform(request, match))

    def perform(self, request: Request, match: Match | None) -> Reply:
        """Carry out a call and save what it changed."""
        self.catch_up()
        try:
            return json_reply(self._handle(request, match))
        except Refusal as refusal:
            return refusal_reply(refusal)
        finally:
            self.save()

    def _handle(self, request: Request, match: Match | None) -> object:
        if match is None:
            raise Refusal(404, reason="API_NOT_FOUND", message="api not found")
        account = account_of(self.world, request.headers.get("authorization", ""))
        call = Call(account, match.parameters, request.query, body_of(request))
        return match.route.handler(self.world, call)


def body_of(request: Request) -> dict[str, object]:
    """Return the JSON object of a request; none is an empty one."""
    if not request.body:
        return {}
    try:
        body = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, reason="INVALID_REQUEST_BODY", message=f"invalid JSON: {error}") from error
    if not isinstance(body, dict):
        raise Refusal(400, reason="INVALID_REQUEST_BODY", message="the body must be a JSON object")
    return body


def _word_for(outcome: Outcome) -> str:
    match outcome:
        case Reply(status=status):
            return str(status)
        case Hangup():
            return "reset"
        case Silence():
            return "none"
