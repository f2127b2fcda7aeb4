"""The load of real chaos: good clients over HTTP, who create, stop, start, restart and delete until the end.

A good client sends an Idempotency-Key with a create, waits a bounded time for an answer, and repeats what
was not answered until it is. What it was told is its claim on Ostler: `Claims` keeps it, and the run
compares it with the rows. A request that a client gave up waiting for may be carried out at any later time,
by a server that only slept: what its instance shall be in the end is then not certain.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from http import HTTPStatus

import httpx2

from ostler.clock import SystemClock
from ostler.domain.phases import Wanted
from tests.support.server import ADMIN_KEY

VERBS = ("stop", "stop", "start", "start", "restart", "delete")
WISHES = {
    "stop": Wanted.STOPPED,
    "delete": Wanted.TERMINATED,
    "start": Wanted.RUNNING,
    "restart": Wanted.RUNNING,
}
_ANSWER_S = 5.0
_AGAIN_S = 0.1
_PATIENCE_S = 90.0
_NO_ANSWER = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
_SOLD_OUT = "NO_OPTIMAL_PRODUCT_ANY_REGION"  # the cloud says so now and then, and is believed for a while
_CLOCK = SystemClock()


class Heard(IntEnum):
    """Whether a try that was not answered may be carried out."""

    NOT = 0
    MAYBE = 1  # before the next was asked: its server died
    MAYBE_LATER = 2  # whenever its server comes to it


class NeverAnsweredError(Exception):
    """A request was repeated for so long that Ostler must be taken for dead."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{method} {path} was not answered for {_PATIENCE_S:g} s")


@dataclass(slots=True)
class Claims:
    """What clients were told: the instances that were accepted, with their last wish where it is certain."""

    wishes: dict[str, Wanted | None] = field(default_factory=dict)
    uncertain: set[str] = field(default_factory=set)  # asked of a server that may still do it
    requests: int = 0
    unanswered: int = 0
    surprises: list[str] = field(default_factory=list)  # answers that no good client should get

    def wish(self, instance_id: str, wanted: Wanted | None) -> None:
        """Note what an instance shall be in the end; None: it is not certain."""
        self.wishes[instance_id] = None if instance_id in self.uncertain else wanted


@dataclass(slots=True)
class Load:
    """Some clients of one site."""

    urls: tuple[str, ...]  # of all replicas; a client takes the next when one does not answer
    seed: int
    claims: Claims = field(default_factory=Claims)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, clients: int) -> None:
        """Go on until it is over; returns when every client has all its answers."""
        await asyncio.gather(*(self._client(number) for number in range(clients)))

    async def _client(self, number: int) -> None:
        dice = random.Random(f"{self.seed} {number}")  # noqa: S311 -- a run that can be repeated
        headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
        async with httpx2.AsyncClient(headers=headers, timeout=_ANSWER_S, trust_env=False) as http:
            caller = _Caller(http, self.urls, self.claims)
            turn = 0
            while not self.is_over.is_set():
                await _life(caller, f"c{number}-{turn}", dice, self.seed)
                turn += 1


@dataclass(slots=True)
class _Caller:
    """Sends what a client wants until it is answered."""

    http: httpx2.AsyncClient
    urls: tuple[str, ...]
    claims: Claims
    turn: int = 0

    async def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, key: str | None = None
    ) -> tuple[httpx2.Response, Heard]:
        """Return the answer, and what became of earlier tries."""
        heard, until = Heard.NOT, _CLOCK.monotonic() + _PATIENCE_S
        headers = {} if key is None else {"Idempotency-Key": key}
        while _CLOCK.monotonic() < until:
            self.claims.requests += 1
            try:
                url = self.urls[self.turn % len(self.urls)] + path
                answer = await self.http.request(method, url, json=body, headers=headers)
                if not _is_no_answer(answer):
                    return answer, heard
            except httpx2.ConnectError:
                pass
            except httpx2.TimeoutException:
                heard = Heard.MAYBE_LATER
            except httpx2.RequestError:
                heard = max(heard, Heard.MAYBE)
            self.claims.unanswered += 1
            self.turn += 1
            await _CLOCK.sleep(_AGAIN_S)
        raise NeverAnsweredError(method, path)


def _is_no_answer(answer: httpx2.Response) -> bool:
    if answer.status_code == HTTPStatus.CONFLICT:
        return _code_of(answer) == "IDEMPOTENCY_KEY_IN_PROGRESS"
    return answer.status_code in _NO_ANSWER


async def _life(caller: _Caller, name: str, dice: random.Random, seed: int) -> None:
    """Ask for an instance, ask this and that of it, and maybe delete it."""
    body = {
        "name": name,
        "productName": "RTX 4090 24GB",
        "templateId": "101",
        "billingMode": "onDemand",
        "startupTimeoutSeconds": 3600,
    }
    answer, _ = await caller.ask("POST", "/api/instances", body, key=f"{seed} {name}")
    if answer.status_code != HTTPStatus.CREATED:
        if _code_of(answer) != _SOLD_OUT:
            caller.claims.surprises.append(f"create: {answer.status_code} {answer.text}")
        await _CLOCK.sleep(1)
        return
    instance_id: str = answer.json()["instanceId"]
    caller.claims.wish(instance_id, Wanted.RUNNING)
    for _ in range(dice.randint(0, 5)):
        await _CLOCK.sleep(dice.choice((0.0, 0.2, 2.0)) * dice.random())
        await _verb(caller, dice.choice(VERBS), instance_id)
    if dice.random() < 0.5:
        await _verb(caller, "delete", instance_id)


async def _verb(caller: _Caller, verb: str, instance_id: str) -> None:
    path = f"/api/instances/{instance_id}"
    if verb == "delete":
        answer, heard = await caller.ask("DELETE", path)
    else:
        answer, heard = await caller.ask("POST", f"{path}/{verb}")
    claims = caller.claims
    if heard is Heard.MAYBE_LATER:
        claims.uncertain.add(instance_id)
    if answer.status_code == HTTPStatus.ACCEPTED:
        claims.wish(instance_id, WISHES[verb])
    elif answer.status_code != HTTPStatus.CONFLICT:
        claims.surprises.append(f"{verb}: {answer.status_code} {answer.text}")
    elif heard is not Heard.NOT:
        claims.wish(instance_id, None)


def _code_of(answer: httpx2.Response) -> str:
    return str(answer.json()["error"]["code"])
