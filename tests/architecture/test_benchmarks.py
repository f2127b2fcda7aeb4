"""`make bench ARGS=name` starts every benchmark: only the launcher reads the command line."""

import importlib
import inspect
import pkgutil

import pytest

import benchmarks
from benchmarks.__main__ import main

NAMES = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name[0] != "_"]


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_is_a_module_with_a_main_that_needs_nothing(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")

    assert not inspect.signature(module.main).parameters
    assert "argv" not in inspect.getsource(module)


def test_a_benchmark_that_there_is_not_is_told_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["engin"]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in NAMES)
