"""Findings: what a check-up says about each thing that it looked at.

Made by checkup.py and its neighbours, told by `ostler doctor`.
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    verdict: Verdict
    detail: str
    hint: str = ""
