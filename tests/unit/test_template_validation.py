"""Templates: every problem at once, each with its field and value; secrets stay hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.catalogue import Port, Protocol
from ostler.domain.templates import RESERVED_PORTS, StatedPort, TemplateSheet, TemplateVerdict, judged


def verdict(
    image: str = "ubuntu:22.04",
    ports: tuple[StatedPort, ...] = (),
    envs: tuple[tuple[str, str], ...] = (),
    rootfs_gb: int = 60,
    command: str = "",
) -> TemplateVerdict:
    sheet = TemplateSheet(
        "7", "demo", image, ports=ports, envs=envs, rootfs_gb=rootfs_gb, start_command=command
    )
    return judged(sheet)


def problems(seen: TemplateVerdict) -> list[tuple[str, str]]:
    return [(problem.field, problem.value) for problem in seen.problems]


def test_a_good_sheet_becomes_a_template() -> None:
    seen = verdict(ports=(StatedPort(80, "http"), StatedPort(22, "tcp")), envs=(("A", "1"),))
    assert not seen.problems
    assert seen.template is not None
    assert seen.template.ports == (Port(80, Protocol.HTTP), Port(22, Protocol.TCP))
    assert seen.template.envs == {"A": "1"}


def test_https_is_exposed_as_http() -> None:
    seen = verdict(ports=(StatedPort(443, "https"),))
    assert seen.template is not None
    assert seen.template.ports == (Port(443, Protocol.HTTP),)


def test_udp_is_refused_by_field() -> None:
    seen = verdict(ports=(StatedPort(80, "http"), StatedPort(53, "udp")))
    assert seen.template is None
    assert problems(seen) == [("ports[1].type", "udp")]
    assert "UDP" in seen.problems[0].message


@pytest.mark.parametrize("number", sorted(RESERVED_PORTS))
def test_the_clouds_own_ports_are_refused(number: int) -> None:
    assert problems(verdict(ports=(StatedPort(number, "tcp"),))) == [("ports[0].port", str(number))]


@pytest.mark.parametrize("number", [0, -1, 65_536])
def test_impossible_ports_are_refused(number: int) -> None:
    assert problems(verdict(ports=(StatedPort(number, "tcp"),))) == [("ports[0].port", str(number))]


def test_a_port_can_be_exposed_only_once() -> None:
    seen = verdict(ports=(StatedPort(80, "http"), StatedPort(80, "tcp")))
    assert problems(seen) == [("ports[1].port", "80")]


def test_fifteen_ports_are_the_most() -> None:
    ports = tuple(StatedPort(8000 + number, "http") for number in range(16))
    assert not verdict(ports=ports[:15]).problems
    assert problems(verdict(ports=ports)) == [("ports", "16")]


@pytest.mark.parametrize(
    "image",
    [
        "redis",
        "pytorch/pytorch:latest",
        "docker.io/library/ubuntu:22.04",
        "registry.example.com:5000/team/app_x/y-z:v1.0-rc.1",
        "REGISTRY.example/app@sha256:" + "0f" * 32,
        "localhost/a:b",
    ],
)
def test_image_references_are_recognised(image: str) -> None:
    assert not verdict(image=image).problems


@pytest.mark.parametrize(
    "image", ["", "has space", "Upper/Case", "a//b", "a:", ":tag", "a@sha256:12", "x" * 501, "a\n"]
)
def test_what_is_no_image_reference_is_refused(image: str) -> None:
    assert [problem.field for problem in verdict(image=image).problems] == ["image"]


def test_too_many_and_too_long_variables_are_refused() -> None:
    many = tuple((f"K{number}", "v") for number in range(101))
    assert problems(verdict(envs=many)) == [("envs", "101")]
    assert [problem.field for problem in verdict(envs=(("K" * 512, "v"),)).problems] == ["envs[0].key"]
    assert problems(verdict(envs=(("", "v"),))) == [("envs[0].key", "")]
    assert problems(verdict(envs=(("A", "1"), ("A", "2")))) == [("envs[1].key", "A")]


def test_the_value_of_a_variable_is_never_shown() -> None:
    secret = "canary" * 1000
    seen = verdict(envs=(("TOKEN", secret),))
    assert problems(seen) == [("envs[0].value", "6000 characters")]
    assert "canary" not in repr(seen)
    assert "canary" not in repr(verdict(envs=(("TOKEN", "canary"),)))


def test_sizes_are_bounded() -> None:
    assert problems(verdict(rootfs_gb=6145)) == [("rootfsSize", "6145")]
    assert [problem.field for problem in verdict(command="x" * 2048).problems] == ["startCommand"]


def test_all_problems_are_found_at_once() -> None:
    seen = verdict(image="", rootfs_gb=-1, ports=(StatedPort(0, "sctp"),), envs=(("", "v"),))
    assert [problem.field for problem in seen.problems] == [
        "image",
        "rootfsSize",
        "ports[0].port",
        "ports[0].type",
        "envs[0].key",
    ]


@given(
    image=st.text(max_size=30),
    ports=st.lists(
        st.builds(StatedPort, st.integers(-5, 70_000), st.sampled_from(["tcp", "udp", "http", ""])),
        max_size=20,
    ),
    envs=st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=5),
)
def test_a_template_exists_exactly_when_there_is_no_problem(
    image: str, ports: list[StatedPort], envs: list[tuple[str, str]]
) -> None:
    seen = verdict(image=image, ports=tuple(ports), envs=tuple(envs))
    assert (seen.template is None) == bool(seen.problems)
    if seen.template is not None:
        assert len(seen.template.ports) == len(ports)
        assert not RESERVED_PORTS & {port.number for port in seen.template.ports}
