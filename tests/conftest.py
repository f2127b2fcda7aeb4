"""What every test of Ostler stands on: a clean environment, the mark of its tier, outside tools.

A test's tier is its folder: `pytest -m "unit or contract"` chooses by it. Nothing of the caller's own
settings reaches a test: a key of a real account in the shell must neither change a result nor be spent.
"""

import asyncio
import os
from pathlib import Path

import hypothesis
import pytest

from ostler.settings import Settings

pytest_plugins = (
    "tests.support.needs",
    "tests.support.databases",
    "tests.support.engine",
    "tests.support.launcher",
    "tests.support.chaos_report",
)

TESTS = Path(__file__).parent
TIERS = ("architecture", "browser", "chaos", "contract", "journey", "unit")

OURS = ("NOVITA_", "OSTLER_", "OTEL_")
KEPT = "OSTLER_TEST_"  # switches for the tests themselves
SETTINGS = frozenset(field.alias for field in Settings.model_fields.values())
TERMINAL = frozenset({"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"})
PROXIES = frozenset({"all_proxy", "http_proxy", "https_proxy", "no_proxy"})


def reaches_ostler(variable: str) -> bool:
    """Tell whether the variable would change what Ostler does, so that no test may inherit it."""
    if variable.startswith(KEPT):
        return False
    return variable.startswith(OURS) or variable in SETTINGS | TERMINAL or variable.casefold() in PROXIES


def pytest_configure(config: pytest.Config) -> None:
    """Forget the caller's settings, name the tiers, and let no property fail for a busy machine."""
    for variable in [name for name in os.environ if reaches_ostler(name)]:
        del os.environ[variable]
    # else looptime, asking for the loop of a test that has none, makes one that nobody closes
    asyncio.set_event_loop(None)
    for tier in TIERS:
        config.addinivalue_line("markers", f"{tier}: the tests in tests/{tier}")
    hypothesis.settings.register_profile(
        "ostler",
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("ostler")


def pytest_xdist_auto_num_workers() -> int:
    """Return how many tests run at a time: most of what takes long waits, for real clocks and processes."""
    return 2 * (os.cpu_count() or 1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test with its tier."""
    if TESTS in item.path.parents:
        item.add_marker(item.path.relative_to(TESTS).parts[0])
