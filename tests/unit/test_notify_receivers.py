"""Receivers by their literal: what a URL may not be, told before anything is sent."""

import pytest

from ostler.cloud.reach import Reach
from ostler.notify.receivers import problem_with_receiver
from tests.support.hostile_addresses import HOSTILE_URLS, METADATA_URLS

INTERNET = Reach()


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_a_url_that_leads_inside_is_refused(url: str) -> None:
    assert problem_with_receiver(url, INTERNET) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a?b=c",
        "http://hooks.example.com:8080/",
        "https://user:password@hooks.example.com/",
        "https://1.1.1.1/",
        "https://[2606:4700::1111]/",
        "https://bücher.example/",
        "https://10.example.com/",
    ],
)
def test_a_url_of_the_internet_is_accepted(url: str) -> None:
    assert problem_with_receiver(url, INTERNET) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "/path",
        "ftp://a.example/",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http://a.example:99999/",
    ],
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    assert problem_with_receiver(url, Reach(allow_private=True)) is not None


def test_an_endless_url_is_refused() -> None:
    assert problem_with_receiver("https://a.example/" + "x" * 2100, INTERNET) is not None


def test_simulation_opens_loopback_and_nothing_else() -> None:
    simulation = Reach(allow_loopback=True)
    assert problem_with_receiver("http://127.0.0.1:9000/", simulation) is None
    assert problem_with_receiver("http://localhost:9000/", simulation) is None
    assert problem_with_receiver("http://[::1]:9000/", simulation) is None
    assert problem_with_receiver("http://10.0.0.1/", simulation) is not None
    assert problem_with_receiver("http://169.254.169.254/", simulation) is not None


def test_the_operator_may_open_private_networks_but_not_the_metadata_service() -> None:
    private = Reach(allow_private=True)
    for url in (
        "http://10.0.0.1/",
        "http://192.168.1.1:8080/",
        "http://100.64.0.1/",
        "http://localhost/",
        "http://[fd00::1]/",
    ):
        assert problem_with_receiver(url, private) is None
    for url in METADATA_URLS:
        assert problem_with_receiver(url, private) is not None, url
