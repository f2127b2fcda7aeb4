"""Words from outside in the log: of clients and of the cloud, in every place, in both forms of the log.

None of them begins a line of its own, colours a terminal, or turns a text around.
"""

import socket
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from tests.support.home import CLOUD_API, Home, at_home

FORGED = "forged-entry"
EVIL = f"x\r\n{FORGED} level=info\x1b[31m\x1b]0;title\x07\x9b5n\u202e\u2028{FORGED}\u0085{FORGED}"
_SEEN = "x\\r\\n"  # how the beginning of it may stand in a line


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_word_from_outside_leaves_its_place_in_the_log(tmp_path: Path, form: str) -> None:
    with at_home(tmp_path, OSTLER_LOG_FORMAT=form, LOG_LEVEL="debug") as home:
        _say_over_http(home)
        _say_over_a_socket(home)
        _have_the_cloud_say(home)
        home.server.stop()
        log = list(home.server.log)
    text = "".join(log)
    assert text.count(FORGED) > 10, "nothing of it was logged at all"
    assert _SEEN in text.replace("\\\\", "\\")
    assert [line for line in text.splitlines() if line.lstrip().startswith(FORGED)] == []
    assert {each for each in text if not each.isprintable()} <= {"\n"}


def _say_over_http(home: Home) -> None:
    """Say it in paths, queries, bodies and headers."""
    word = quote(EVIL, safe="")
    for path in (
        f"/{word}",
        f"/api/instances/{word}",
        f"/api/instances?name={word}",
        f"/api/cache/{word}/stats",
    ):
        home.api.get(path)
    home.api.post("/api/instances", json=home.body(name=EVIL, productName=EVIL, labels={EVIL: EVIL}))
    home.api.post("/api/instances", json={EVIL: EVIL})
    home.api.post("/api/webhooks", json={"url": f"http://127.0.0.1:9/{EVIL}", "events": [EVIL]})
    home.api.post(f"/api/orphans/{word}/delete")
    for header in (
        "User-Agent",
        "X-Request-Id",
        "X-Correlation-Id",
        "Idempotency-Key",
        "Last-Event-ID",
        "Origin",
    ):
        value = EVIL.replace("\r\n", "\t").encode("utf-8")
        home.api.get("/api/instances", headers=[(header.encode(), value)])
    home.api.request("PURGE", f"/{word}")


def _say_over_a_socket(home: Home) -> None:
    """Say it where no client library would."""
    url = httpx2.URL(home.server.url)
    for words in (f"GET /{FORGED}\x1b[31m HTTP/1.1\r\n\r\n", f"{FORGED} \x1b[31m\r\n\r\n", f"\n{FORGED}\n\n"):
        with socket.create_connection((url.host, url.port or 0), timeout=30) as line:
            line.sendall(words.encode())
            line.recv(1000)


def _have_the_cloud_say(home: Home) -> None:
    """Have the cloud say it: in a template, in an error, in what it lists."""
    template = {
        "name": EVIL,
        "type": "instance",
        "channel": "private",
        "image": f"img/{FORGED}:1",
        "rootfsSize": 60,
    }
    home.cloud.post(f"{CLOUD_API}/template/create", json={"template": template})
    home.api.delete("/api/cache")
    home.api.get("/api/templates")
    home.control("/faults", fault="refusal", status=400, reason=EVIL, message=EVIL, route="*", times=3)
    home.api.get("/api/templates/no-such-template")
    home.control("/faults", fault="refusal", status=400, reason=EVIL, message=EVIL, route="POST *create")
    home.api.post("/api/instances", json=home.body())
    home.api.post("/api/instances/sync")
