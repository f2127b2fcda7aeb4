"""What the transport costs over the bare HTTP client, and what a pass over the account's list costs.

A server in a process of its own gives fixed answers; the bare client and the transport take turns against
it in the same run, so that the ratio counts and not the machine. The pass is our whole path from socket to
values, in seconds of this process's CPU.
"""

import asyncio
import multiprocessing
import socket
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import orjson
from pydantic import SecretStr

from ostler.clock import SystemClock
from ostler.cloud.lane import Lane
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.request import Kind, Request
from ostler.cloud.transport import Transport, TransportConfig

CLIENTS = 32
CALLS_PER_ROUND = 2_000
ROUNDS = 5
FLEETS = (10_000, 100_000)
PAGE = 100
PASS_INTERVAL_S = 30
KEY = SecretStr("sk_bench")
HEADERS = {"Authorization": f"Bearer {KEY.get_secret_value()}"}
THING = "/thing"


def main() -> None:
    """Measure and print."""
    with _server() as address:
        asyncio.run(_measure_calls(address))
        for fleet in FLEETS:
            asyncio.run(_measure_pass(address, fleet))


@dataclass
class Series:
    """The calls of one way to call."""

    name: str
    call: Callable[[], Awaitable[object]]
    per_second: list[float]
    cpu_us: list[float]
    latencies_ms: list[float]

    async def play(self) -> None:
        """Make one round of calls by many clients at once."""
        began, cpu_began = time.perf_counter(), time.process_time()
        await asyncio.gather(*(self._client() for _ in range(CLIENTS)))
        calls = CALLS_PER_ROUND // CLIENTS * CLIENTS
        self.per_second.append(calls / (time.perf_counter() - began))
        self.cpu_us.append((time.process_time() - cpu_began) / calls * 1e6)

    def forget(self) -> None:
        """Begin anew."""
        for figures in (self.per_second, self.cpu_us, self.latencies_ms):
            figures.clear()

    async def _client(self) -> None:
        for _ in range(CALLS_PER_ROUND // CLIENTS):
            began = time.perf_counter()
            await self.call()
            self.latencies_ms.append((time.perf_counter() - began) * 1000)


async def _measure_calls(address: str) -> None:
    request = Request("get_thing", Kind.READ, Lane.USER, "GET", THING)
    limits = httpx2.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx2.AsyncClient(
        base_url=address, headers=HEADERS, limits=limits, trust_env=False
    ) as client:
        transport = Transport(_config(address), SystemClock())
        bare = Series("bare httpx2", lambda: client.get(THING), [], [], [])
        ours = Series("transport", lambda: transport.send(request), [], [], [])
        for each in (bare, ours):  # connections are opened, code is warm
            await each.play()
            each.forget()
        for _ in range(ROUNDS):
            await bare.play()
            await ours.play()
        await transport.aclose()
    print(f"{CLIENTS} clients, {ROUNDS} rounds of {CALLS_PER_ROUND} calls each, in turns")
    print(f"{'':14}{'calls/s':>10}{'p50 ms':>10}{'p99 ms':>10}{'CPU µs/call':>14}")
    for each in (bare, ours):
        cuts = statistics.quantiles(each.latencies_ms, n=100)
        rate, cpu = statistics.median(each.per_second), statistics.median(each.cpu_us)
        print(f"{each.name:14}{rate:>10.0f}{cuts[49]:>10.2f}{cuts[98]:>10.2f}{cpu:>14.0f}")
    overhead = statistics.median(ours.cpu_us) / statistics.median(bare.cpu_us)
    slower = statistics.median(bare.per_second) / statistics.median(ours.per_second)
    print(f"ratio of transport to bare: {overhead:.2f} in CPU, {slower:.2f} in time")


async def _measure_pass(address: str, fleet: int) -> None:
    transport = Transport(_config(f"{address}/fleet/{fleet}"), SystemClock())
    cloud = NovitaCloud(transport)
    began, cpu_began = time.perf_counter(), time.process_time()
    listing = await cloud.list_all()
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    await transport.aclose()
    assert listing.is_complete
    assert len(listing.upstreams) == fleet
    share = cpu_s / PASS_INTERVAL_S * 100
    print(
        f"a pass over {fleet} instances: {listing.pages} calls, {seconds:.2f} s, {cpu_s:.2f} s of CPU "
        f"({cpu_s / fleet * 1e6:.0f} µs a row): {share:.2f} % of a core at one pass every {PASS_INTERVAL_S} s"
    )


def _config(address: str) -> TransportConfig:
    return TransportConfig(address, KEY, per_minute=0, max_calls=CLIENTS)


@contextmanager
def _server() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=CLIENTS) as listener:
        process = multiprocessing.get_context("spawn").Process(target=_serve, args=(listener,), daemon=True)
        process.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            process.terminate()
            process.join()


def _serve(listener: socket.socket) -> None:
    asyncio.run(_serve_forever(listener))


async def _serve_forever(listener: socket.socket) -> None:
    server = await asyncio.start_server(_answer_calls, sock=listener)
    await server.serve_forever()


async def _answer_calls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while not reader.at_eof():
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionResetError):
            break
        body = _body_for(head.split(b" ", 2)[1].decode())
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body
        )
    writer.close()


def _body_for(target: str) -> bytes:
    if target.startswith("/fleet/"):
        fleet, number = int(target.split("/")[2]), int(target.rsplit("pageNum=", 1)[1])
        first = max(0, number - 1) * PAGE
        rows = [_row(index) for index in range(first, min(first + PAGE, fleet))]
        return orjson.dumps({"instances": rows, "pageSize": PAGE, "pageNum": number, "total": fleet})
    return b'{"id":"3560b7fec915bbf9","name":"demo","status":"running"}'


def _row(index: int) -> dict[str, object]:
    return {
        "id": f"{index:016x}",
        "name": f"instance-{index}--os-abcd-efgh-1",
        "clusterId": "us-ca-6",
        "clusterName": "US-CA-06 (California)",
        "status": "running",
        "statusError": {"state": "", "message": ""},
        "imageUrl": "docker.io/library/ubuntu:22.04",
        "imageAuthId": "",
        "command": "",
        "entrypoint": "",
        "cpuNum": "16",
        "memory": "62",
        "gpuNum": "1",
        "kind": "gpu",
        "productId": "4090.16c62g",
        "productName": "RTX 4090 24GB",
        "rootfsSize": 60,
        "gpuIds": [3],
        "portMappings": [{"port": 8080, "endpoint": f"https://{index:016x}-8080.example", "type": "http"}],
        "volumeMounts": [],
        "envs": [{"key": "A", "value": "1"}],
        "network": {"id": "", "ip": ""},
        "jobs": [],
        "billingMode": "spot",
        "endTime": "-1",
        "spotStatus": "running",
        "spotReclaimTime": "0",
        "createdAt": "1785780950",
        "lastStartedAt": "1785780954",
        "lastStoppedAt": "0",
        "useTime": "3600",
        "instancePrice": "17500",
        "localStoragePrice": "5",
        "exitedLocalStoragePrice": "5",
        "keepDataDay": 7,
        "releaseDataAt": "0",
    }


if __name__ == "__main__":
    main()
