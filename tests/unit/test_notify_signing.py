"""Signatures: made with the official scheme, checked with the official library, as receivers do."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from standardwebhooks import Webhook, WebhookVerificationError

from ostler.notify.signing import (
    Message,
    UnusableSecret,
    is_encoded,
    new_secret,
    signed_headers,
    signing_key,
    weakness_of,
)

AT = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
MESSAGE = Message("msg_1", "instance.ready", '{"event":"instance.ready","grüße":"✓"}'.encode())


@given(key=st.binary(min_size=24, max_size=64), text=st.text(st.characters(codec="utf-8")))
def test_the_official_library_accepts_what_we_sign(key: bytes, text: str) -> None:
    secret = SecretStr("whsec_" + base64.b64encode(key).decode())
    message = Message("msg_1", "x", text.encode())
    with time_machine.travel(AT, tick=False):
        headers = dict(signed_headers(message, secret, AT))
        Webhook(secret.get_secret_value()).verify(message.body, headers, json_parse=False)


def test_a_changed_body_another_secret_or_an_old_message_is_refused_by_the_library() -> None:
    secret = new_secret()
    headers = dict(signed_headers(MESSAGE, secret, AT))
    receiver = Webhook(secret.get_secret_value())
    with time_machine.travel(AT, tick=False), pytest.raises(WebhookVerificationError):
        receiver.verify(MESSAGE.body + b" ", headers)
    with time_machine.travel(AT, tick=False), pytest.raises(WebhookVerificationError):
        Webhook(new_secret().get_secret_value()).verify(MESSAGE.body, headers)
    with (
        time_machine.travel(datetime(2026, 3, 1, 12, 6, tzinfo=UTC), tick=False),
        pytest.raises(WebhookVerificationError),
    ):
        receiver.verify(MESSAGE.body, headers)


def test_a_plain_secret_is_its_own_bytes() -> None:
    secret = SecretStr("a plain secret of some length")
    headers = dict(signed_headers(MESSAGE, secret, AT))
    with time_machine.travel(AT, tick=False):
        assert Webhook(b"a plain secret of some length").verify(MESSAGE.body, headers)["grüße"] == "✓"


@pytest.mark.parametrize(
    "text", ["a plain secret of some length", "whsec_" + base64.b64encode(b"k" * 32).decode()]
)
def test_receivers_of_the_earlier_service_find_their_headers(text: str) -> None:
    headers = signed_headers(MESSAGE, SecretStr(text), AT)
    expected = hmac.new(text.encode(), MESSAGE.body, hashlib.sha256).hexdigest()
    assert headers["X-Webhook-Signature"] == f"sha256={expected}"
    assert headers["X-Webhook-Timestamp"] == "2026-03-01T12:00:00.123Z"
    assert headers["Content-Type"] == "application/json"


def test_base64_without_its_padding_is_the_same_key() -> None:
    padded = base64.b64encode(b"0123456789" * 4).decode()
    assert padded.endswith("=")
    assert signing_key(SecretStr(f"whsec_{padded}")) == signing_key(SecretStr(f"whsec_{padded.rstrip('=')}"))


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_not base64!", "whsec_a"])
def test_a_secret_that_cannot_sign_is_named_without_being_repeated(text: str) -> None:
    with pytest.raises(UnusableSecret) as caught:
        signing_key(SecretStr(text))
    assert "not base64!" not in str(caught.value)


@pytest.mark.parametrize(("size", "is_weak"), [(23, True), (24, False), (64, False), (65, True)])
def test_the_standards_sizes_are_kept_for_its_own_form(size: int, is_weak: bool) -> None:  # noqa: FBT001
    secret = SecretStr("whsec_" + base64.b64encode(b"k" * size).decode())
    assert is_encoded(secret)
    assert (weakness_of(secret) is not None) is is_weak


def test_of_a_plain_secret_only_shortness_is_a_weakness() -> None:
    assert weakness_of(SecretStr("short")) is not None
    assert weakness_of(SecretStr("l" * 100)) is None


def test_made_secrets_are_strong_and_differ() -> None:
    first, second = new_secret(), new_secret()
    assert first.get_secret_value() != second.get_secret_value()
    assert weakness_of(first) is None
    assert len(signing_key(first)) == 32
