"""Redaction: no canary gets out, be it under a telling name, in a telling shape, or in plain text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.telemetry.redaction import _SECRET_SHAPES, MASK, Redactor

CANARY = "canary-7f3a9c"

nested = st.recursive(
    st.just(CANARY) | st.text(max_size=20) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(value=nested, around=st.text(max_size=10))
def test_a_known_secret_leaves_no_text_however_deep_it_lies(value: object, around: str) -> None:
    redactor = Redactor([CANARY])
    assert CANARY not in repr(redactor.value({"some": [value, f"{around}{CANARY}{around}"]}))


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "sshPassword",
        "NOVITA_API_KEY",
        "apiKey",
        "Authorization",
        "cookie",
        "envs",
        "webhook_secret",
        "token",
    ],
)
def test_values_of_telling_names_are_masked(name: str) -> None:
    assert Redactor().mapping({name: "anything"}) == {name: MASK}


@pytest.mark.parametrize("name", ["environment", "keyboard", "monkey", "tokens_used", "path", "key_file"])
def test_innocent_names_keep_their_values(name: str) -> None:
    assert Redactor().mapping({name: "value"}) == {name: "value"}


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef123456",
        "https://host/path?token=abcdef123456&x=1",
        "postgresql://user:abcdef123456@host/db",
        "sk_abcdef123456",
        "whsec_abcdef123456",
    ],
)
def test_telling_shapes_are_masked_in_texts(text: str) -> None:
    assert "abcdef123456" not in Redactor().text(f"it said {text} and stopped")


@given(secret=st.one_of([st.from_regex(shape) for shape, _ in _SECRET_SHAPES]))
def test_whatever_has_one_of_the_shapes_is_masked(secret: str) -> None:
    assert MASK in Redactor().text(secret)


def test_what_is_no_secret_stays_as_it_is() -> None:
    text = "GET /api/offers?productName=4090 took 3 ms, bearer of bad news"
    assert Redactor([CANARY]).text(text) == text


def test_very_short_secrets_do_not_take_words_apart() -> None:
    assert Redactor(["a"]).text("a banana") == "a banana"
