"""A server that is asked hostile things by its own document, and what a good answer to them is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.support.document import Operation
from tests.support.home import Home

_KB = 1024
_LONGEST_REFUSAL = 32 * _KB
_INSIDES = re.compile(rb"Traceback|File \"/|sqlalchemy|psycopg|sqlite3|site-packages")
JSON = {"Content-Type": "application/json"}
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Site:
    """A server that is asked hostile things, and what is there to be asked about."""

    home: Home
    operations: list[Operation]
    known: Mapping[str, str]
    wrong: list[str] = field(default_factory=list)

    def ask(
        self, operation: Operation, name: str, values: Mapping[str, str] = NOTHING, **request: object
    ) -> httpx2.Response | None:
        """Ask, and note what is wrong with the answer; None for what no client can even say."""
        path = operation.at({**self.known, **values})
        try:
            answer = self.home.api.request(operation.method, path, **request)  # type: ignore[arg-type]  # what a request may carry
        except httpx2.InvalidURL:
            return None
        trouble = trouble_with(answer)
        if trouble:
            self.wrong.append(f"{operation}, {name}: {trouble}")
        return answer


def trouble_with(answer: httpx2.Response) -> str | None:
    """Return what is wrong with an answer to hostile input; None when it is a good one."""
    if answer.is_success or answer.status_code in {303, 304, 307, 308}:
        return None
    text = answer.content
    if not 400 <= answer.status_code < 500:
        return f"{answer.status_code} {text[:300]!r}"
    if len(text) > _LONGEST_REFUSAL or _INSIDES.search(text):
        return f"{len(text)} bytes {text[:300]!r}"
    error = answer.json()["error"]
    if not {"code", "message", "details", "timestamp", "requestId"} <= set(error):
        return f"no envelope: {text[:300]!r}"
    wrong = error.get("validationErrors", [])
    if (error["code"] == "VALIDATION_ERROR") != bool(wrong):
        return f"no field is named: {text[:300]!r}"
    for each in wrong:
        value = each.get("value")
        if not each["code"].isupper() or (isinstance(value, str) and len(value) > 210):
            return f"a field is told badly: {str(each)[:300]}"
    return None


def names_field(answer: httpx2.Response, name: str) -> bool:
    """Whether a refusal of the input names this field, or the body that holds it."""
    told = [str(each["field"]) for each in answer.json()["error"]["validationErrors"]]
    return any(each == "body" or each.partition("[")[0].startswith(name) for each in told)


def memory_of(site: Site) -> int:
    """Return how much memory the server has, in bytes."""
    pages = Path(f"/proc/{site.home.server.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096
