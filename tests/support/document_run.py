"""A run of schemathesis against a server: does it do what its own document says, whatever it is sent?

Ids of things that are there let requests reach more than "not found". Every check that the tool knows is on;
what may be refused although the document allows it is said below, with the reason.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"
_PATIENCE_S = 240
# the document cannot say what is there, and which states allow a change
_MAY_BE_REFUSED = ["2xx", "3xx", "401", "403", "404", "409", "422", "429"]
# nor which texts name a region, which is the cloud's to say, and which instants lie ahead
_BEYOND_ITS_WORDS = ("/api/offers", "/api/products", "/api/instances", "/api/keys")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the run found."""

    is_clean: bool
    report: str


def run_document(
    url: str, key: str, known: Mapping[str, list[str | int]], folder: Path, *, in_full: bool
) -> Verdict:
    """Try every operation of the document with one key; `known` are values for the parameters of paths.

    In full, every bound that the document names is tried beside what chance finds.
    """
    settings = folder / "schemathesis.toml"
    settings.write_text(_settings(key, known, in_full=in_full))
    done = subprocess.run(  # noqa: S603 -- the tool of this environment
        [SCHEMATHESIS, "--no-color", "--config-file", settings, "run", f"{url}/openapi.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    return Verdict(done.returncode == 0, done.stdout + done.stderr)


def _settings(key: str, known: Mapping[str, list[str | int]], *, in_full: bool) -> str:
    """Return the tool's settings; a stream never ends, so events are only read as pages."""
    lines = [
        "suppress-health-check = ['all']",
        "warnings = false",
        "continue-on-failure = true",
        "request-timeout = 30.0",
        "max-stream-events = 1",
        "seed = 1",
        f"headers = {{ Authorization = {json.dumps(f'Bearer {key}')}, Accept = 'application/json' }}",
        f"generation.max-examples = {10 if in_full else 5}",
        f"phases.coverage.enabled = {json.dumps(in_full)}",
        "generation.allow-x00 = false",  # refused everywhere; that is tried elsewhere
        "generation.deterministic = true",
        "generation.database = 'none'",
        "phases.stateful.enabled = false",
        "parameters.'query.timeoutSeconds' = 0.2",  # waiting is tried elsewhere
        "parameters.'query.follow' = false",  # so are logs that never end
        f"checks.positive_data_acceptance.expected-statuses = {json.dumps(_MAY_BE_REFUSED)}",
    ]
    for name, values in known.items():
        lines.append(f"dictionaries.{name}.values = {json.dumps(values)}")
        lines.append(f"parameters.'path.{name}' = {{ dictionary = '{name}', probability = 0.7 }}")
    for path in _BEYOND_ITS_WORDS:
        lines += ["[[operations]]", f"include-path = '{path}'"]
        refusals = json.dumps([*_MAY_BE_REFUSED, "400"])
        lines.append(f"checks.positive_data_acceptance.expected-statuses = {refusals}")
    return "\n".join(lines) + "\n"
