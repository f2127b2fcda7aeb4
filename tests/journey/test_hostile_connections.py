"""Clients that mean no good, below HTTP: heads without end, bodies without end, words that never come.

Each is refused in our envelope, or hung up on, while everybody else is served; it costs hardly any memory.
"""

import gzip
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.home import code_of
from tests.support.server import ADMIN_KEY, OstlerProcess, running_ostler

_MB = 1_048_576


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OstlerProcess]:
    with running_ostler(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def connected(server: OstlerProcess) -> socket.socket:
    url = httpx2.URL(server.url)
    assert url.port
    return socket.create_connection((url.host, url.port), timeout=30)


def spoken(server: OstlerProcess, *pieces: bytes, times: int = 1) -> bytes:
    """Say these words, the last one so many times, for as long as somebody listens; return the answer."""
    with connected(server) as line:
        try:
            for piece in pieces[:-1]:
                line.sendall(piece)
            for _ in range(times):
                line.sendall(pieces[-1])
        except OSError:
            pass  # hung up on in the middle of a word
        return heard(line)


def heard(line: socket.socket) -> bytes:
    answer = b""
    try:
        while piece := line.recv(65_536):
            answer += piece
    except ConnectionError:
        pass
    return answer


def test_a_reader_that_vanishes_without_a_word_is_asked_after(server: OstlerProcess) -> None:
    with connected(server) as line:
        ends = [f"{address[1]:04X}" for address in (line.getpeername(), line.getsockname())]
        pause = threading.Event()
        while timer_of(*ends) != "02":  # the system's word for keepalive; the server may not have seen us yet
            pause.wait(0.02)


def timer_of(own_port: str, other_port: str) -> str:
    """Return which timer runs for an end of a connection."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ports = [own_port, other_port]
    found = [row[5] for row in rows if [end.rpartition(":")[2] for end in row[1:3]] == ports]
    return found[0].partition(":")[0] if found else ""


def memory_of(server: OstlerProcess) -> int:
    """Return how much memory the server has, in bytes."""
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def is_well(server: OstlerProcess) -> bool:
    with server.client() as client:
        return client.get("/health").status_code == 200


LINE = b"GET /health HTTP/1.1\r\nHost: x\r\n"
HEADS = {
    "one header without end": ([LINE + b"X-A: ", b"a" * _MB], 50),
    "headers without end": ([LINE, b"X-A: b\r\n" * 10_000], 200),
    "an address without end": ([b"GET /", b"a" * _MB], 50),
    "a large head in one piece": ([LINE + b"X-A: " + b"a" * 70_000 + b"\r\n\r\n"], 1),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_beyond_measure_is_refused_and_kept_nowhere(server: OstlerProcess, name: str) -> None:
    pieces, times = HEADS[name]
    before = memory_of(server)
    answer = spoken(server, *pieces, times=times)
    assert not answer or b" 431 " in answer.splitlines()[0], answer[:200]
    assert not answer or b'"code":"HEADERS_TOO_LARGE"' in answer
    assert memory_of(server) - before < 16 * _MB
    assert is_well(server)


def test_a_head_of_an_honest_size_is_read(server: OstlerProcess) -> None:
    answer = spoken(server, LINE + b"X-A: " + b"a" * 30_000 + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")


BODY = (
    b"POST /api/instances HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "
    + ADMIN_KEY.encode()
    + b"\r\n"
)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"Content-Length: 10485760\r\n\r\n", b"a" * _MB),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % _MB + b"a" * _MB + b"\r\n"),
    ],
    ids=["announced", "in chunks without end"],
)
def test_a_body_beyond_measure_is_cut_off(server: OstlerProcess, head: bytes, piece: bytes) -> None:
    before = memory_of(server)
    answer = spoken(server, BODY + head, piece, times=50)
    assert not answer or b" 413 " in answer.splitlines()[0], answer[:200]
    assert memory_of(server) - before < 16 * _MB
    assert is_well(server)


@pytest.mark.parametrize("body", [b"a=b&" * 5_000, [b"a=b&" * 1_000] * 5], ids=["announced", "in chunks"])
def test_a_form_that_anybody_may_send_holds_a_key_and_not_more(
    server: OstlerProcess, body: bytes | list[bytes]
) -> None:
    headers = {"Origin": server.url, "Content-Type": "application/x-www-form-urlencoded"}
    with server.client(key=None) as nobody:
        answer = nobody.post("/login", content=body, headers=headers)
    assert code_of(answer) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.json()["error"]["details"] == {"maxBytes": 16_384}


def test_a_body_that_would_expand_is_not_unpacked(server: OstlerProcess) -> None:
    expanding = gzip.compress(b'{"name":"' + b"a" * 64 * _MB + b'"}')
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    before = memory_of(server)
    with server.client() as client:
        answer = client.post("/api/instances", content=expanding, headers=headers)
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert memory_of(server) - before < 16 * _MB


@pytest.mark.parametrize(
    "words",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"GET / HTTP/9.9\r\n\r\n",
        b"NOT HTTP AT ALL\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: b\x00c\r\n\r\n",
        b"GET / HTTP/1.1\r\n X-Folded: yes\r\n\r\n",
    ],
    ids=[
        "TLS",
        "a version to come",
        "no HTTP",
        "bytes in the address",
        "two lengths",
        "a length below nothing",
        "both lengths",
        "NUL in a header",
        "a folded header",
    ],
)
def test_what_is_no_http_is_refused_with_400(server: OstlerProcess, words: bytes) -> None:
    answer = spoken(server, words)
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert b'"code":"MALFORMED_REQUEST"' in answer
    assert is_well(server)


@pytest.mark.parametrize(
    "path", ["/..%2f..%2fetc/passwd", "/static/../../pyproject.toml", "/static/%2e%2e/%2e%2e/x"]
)
def test_no_path_leads_out_of_the_pages(server: OstlerProcess, path: str) -> None:
    answer = spoken(server, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ")[1] in {b"401", b"404"}, answer[:200]


def test_hundreds_who_never_finish_their_sentence_keep_nobody_waiting(server: OstlerProcess) -> None:
    lines = [connected(server) for _ in range(300)]
    try:
        for line in lines:
            line.sendall(LINE)  # and then nothing
        assert is_well(server)
    finally:
        for line in lines:
            line.close()
    assert is_well(server)
