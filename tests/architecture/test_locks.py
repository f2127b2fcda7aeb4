"""The locks, the dependencies in pyproject.toml, and pip's wheel belong together."""

import hashlib
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import BaseModel, Field

from tests.architecture.tree import ROOT

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


class Project(BaseModel):
    """The dependencies of the project itself."""

    dependencies: list[str]


class Declared(BaseModel):
    """What pyproject.toml asks for."""

    project: Project
    groups: dict[str, list[str]] = Field(alias="dependency-groups")


def declared() -> Declared:
    return Declared.model_validate(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))


def pins(lock: str) -> dict[str, set[str]]:
    """Return name → versions; a lock for every platform may have more than one."""
    found: dict[str, set[str]] = {}
    for name, version in PIN.findall((ROOT / lock).read_text(encoding="utf-8")):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", declared().project.dependencies),
        ("requirements-dev.lock", declared().project.dependencies + declared().groups["dev"]),
    ],
)
def test_every_dependency_is_locked_at_a_version_that_it_allows(lock: str, wanted: list[str]) -> None:
    locked = pins(lock)

    amiss = [
        text
        for text in wanted
        if not (versions := locked.get(canonicalize_name(Requirement(text).name)))
        or not all(Requirement(text).specifier.contains(version, prereleases=True) for version in versions)
    ]

    assert not amiss, f"run make lock: {amiss}"


def test_the_tests_run_on_the_versions_that_users_get() -> None:
    runtime, development = pins("requirements.lock"), pins("requirements-dev.lock")

    assert runtime == {name: development.get(name) for name in runtime}


@pytest.mark.parametrize("lock", sorted(path.name for path in ROOT.glob("requirements*.lock")))
def test_every_pin_has_a_hash(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip())

    assert entries
    assert all("--hash=sha256:" in entry for entry in entries if not entry.startswith("#"))


def test_the_wheel_of_pip_is_the_one_that_was_published() -> None:
    [wheel] = (ROOT / "tools").glob("pip-*.whl")
    lock = (ROOT / "requirements-setup.lock").read_text(encoding="utf-8")
    entry = next(part for part in re.split(r"\n(?=\S)", lock) if part.startswith("pip=="))

    assert entry.startswith(f"pip=={wheel.name.split('-')[1]} ")
    assert f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" in entry
