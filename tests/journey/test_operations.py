"""The page for operators against a real server: its routes and metrics exist, its proxy lets all through."""

import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.support.home import Home, at_home
from tests.support.needs import ROOT, path_of
from tests.support.server import ADMIN_KEY

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
NGINX = (ROOT / "docs" / "operations" / "nginx.conf").read_text(encoding="utf-8")
_AROUND = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {ours}
}}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def test_every_route_that_is_named_exists(home: Home) -> None:
    paths = home.api.get("/openapi.json").json()["paths"]
    named = re.findall(
        r"(?:`(?:GET|POST|PUT|PATCH|DELETE) |`|127\.0\.0\.1:3000)(/(?:api|health|metrics)[\w/{}-]*)", PAGE
    )
    assert {"/health/ready", "/api/orphans"} <= set(named)
    assert set(named) <= {*paths, "/metrics"}


def test_every_metric_that_is_named_is_exported(home: Home) -> None:
    exported = home.api.get("/metrics").text
    named = set(re.findall(r"`((?:ostler|process)_\w+)`", PAGE))
    assert len(named) > 4
    assert [name for name in named if f"# TYPE {name} " not in exported] == []


def self_signed(folder: Path) -> None:
    """Write a certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ostler.example.com")])
    now = datetime.now(UTC)  # noqa: TID251 -- a certificate is for the real time
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "privkey.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@contextmanager
def behind_nginx(server_url: str, folder: Path) -> Iterator[httpx2.Client]:
    """Run nginx as the page says, but for the names of ports and files; yield a client of it."""
    self_signed(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ours = NGINX.replace("127.0.0.1:3000", server_url.removeprefix("http://"))
    ours = ours.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace(
        "/etc/ssl/ostler", str(folder)
    )
    config = folder / "nginx.conf"
    config.write_text(_AROUND.format(folder=folder, ours=ours), encoding="utf-8")
    command = [path_of("nginx"), "-c", str(config), "-e", str(folder / "error.log"), "-p", str(folder)]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)  # noqa: S603 -- a tool of the tests
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command)  # noqa: S603 -- a tool of the tests
    trusting = httpx2.HTTPTransport(verify=_anything(), retries=20)  # until it listens
    try:
        with httpx2.Client(
            base_url=f"https://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {ADMIN_KEY}", "Host": "ostler.example.com"},
            transport=trusting,
            timeout=60,
        ) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)


def _anything() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.needs("nginx")
def test_behind_nginx_events_come_as_they_happen_and_long_polls_are_waited_for(
    home: Home, tmp_path: Path
) -> None:
    with behind_nginx(home.server.url, tmp_path) as client:
        with client.stream("GET", "/api/events", headers={"Accept": "text/event-stream"}) as stream:
            instance_id = home.created()
            lines = stream.iter_lines()
            assert any(line == "event: instance.creating" for line in lines)
            assert any(line == "event: instance.running" for line in lines)
        found = client.get(f"/api/instances/{instance_id}", params={"waitFor": "ready"})
        assert (found.status_code, found.json()["waited"]) == (200, "reached")
        assert client.post("/api/instances", content=b" " * 1_100_000).status_code == 413
        assert client.get("/api/instances", headers={"Authorization": ""}).status_code == 401
