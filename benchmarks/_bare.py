"""The bare baseline: FastAPI on uvicorn as we run it, with an empty route and nothing of ours.

Run as a program of its own, `python -m benchmarks._bare`, on the core that the server has in its turn.
"""

import sys

import uvicorn
import uvloop
from fastapi import FastAPI

app = FastAPI()


@app.get("/empty")
async def empty() -> dict[str, str]:
    """Answer."""
    return {}


@app.post("/empty")
async def empty_post() -> dict[str, str]:
    """Answer."""
    return {}


class _Server(uvicorn.Server):
    """Says where it listens."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # none are given
        del sockets
        await super().startup()
        port = self.servers[0].sockets[0].getsockname()[1]
        sys.stdout.write(f"http://127.0.0.1:{port}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    config = uvicorn.Config(
        app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False, port=0
    )
    uvloop.run(_Server(config).serve())
