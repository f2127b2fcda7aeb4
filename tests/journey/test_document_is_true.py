"""The API's document is what the server does: every operation is tried with data of every kind.

No answer is a server error, every answer has a status, a type and a shape that the document promises, what it
forbids is refused, and what it allows is not.
"""

from pathlib import Path

import pytest

from ostler.domain.roles import Role
from tests.support.document_run import run_document
from tests.support.home import Home, at_home
from tests.support.server import ADMIN_KEY


@pytest.mark.timeout(300)
def test_every_operation_does_what_the_document_says(tmp_path: Path, database_url: str) -> None:
    with at_home(tmp_path, OSTLER_DATABASE_URL=database_url) as home:
        in_full = database_url.startswith("sqlite")  # what a request looks like is judged before any database
        verdict = run_document(home.server.url, ADMIN_KEY, _known(home), tmp_path, in_full=in_full)
        assert verdict.is_clean, verdict.report
        errors = [entry for entry in home.server.entries() if entry.get("level") == "error"]
        assert errors == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("role", "project"),
    [(Role.VIEWER, None), (Role.OPERATOR, "blue"), (Role.ADMIN, "blue")],
)
def test_it_does_so_with_every_kind_of_key(tmp_path: Path, role: Role, project: str | None) -> None:
    """What is forbidden to it is refused as the document says, too."""
    with at_home(tmp_path) as home:
        made = home.api.post("/api/keys", json={"name": "a key", "role": role, "project": project}).json()
        verdict = run_document(home.server.url, made["key"], _known(home), tmp_path, in_full=False)
        assert verdict.is_clean, verdict.report
        errors = [entry for entry in home.server.entries() if entry.get("level") == "error"]
        assert errors == []


def _known(home: Home) -> dict[str, list[str | int]]:
    """Make one of everything, and return the ids."""
    running, exited = home.running(), home.exited()
    operation = home.listed(exited, "operations")[0]["id"]
    made = home.api.post("/api/webhooks", json={"url": "http://127.0.0.1:9/nobody"}).json()
    delivery = home.api.post(f"/api/webhooks/{made['id']}/test").json()["id"]
    job = home.api.get("/api/jobs").json()["jobs"][0]["id"]
    return {
        "instance_id": [running, exited],
        "operation_id": [str(operation)],
        "endpoint_id": [made["id"]],
        "delivery_id": [delivery],
        "job_id": [job],
        "template_id": ["101", "102"],
        "name": ["products", "regions", str(home.looked(running)["name"])],
    }


def test_a_nul_in_an_address_is_refused(tmp_path: Path, database_url: str) -> None:
    with at_home(tmp_path, OSTLER_DATABASE_URL=database_url) as home:
        for place in ("/api/instances/%00", "/api/instances?name=a%00b", "/api/jobs?type=%00"):
            answer = home.api.get(place)
            assert answer.status_code == 400, answer.text
            assert answer.json()["error"]["validationErrors"][0]["code"] == "INVALID_CHARACTER"
