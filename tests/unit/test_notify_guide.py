"""The guide for receivers: its code verifies what we send, and it names every event."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from pydantic import SecretStr

from ostler.domain.events import PublicEvent
from ostler.notify.schedule import PATIENCE, next_attempt
from ostler.notify.signing import Message, new_secret, signed_headers

GUIDE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text(encoding="utf-8")
AT = datetime(2026, 3, 1, tzinfo=UTC)
MESSAGE = Message("msg_1", "instance.ready", b'{"event":"instance.ready","instanceId":"i-1"}')


@pytest.mark.parametrize("secret", [new_secret(), SecretStr("a plain secret of good length")])
def test_the_receiver_in_the_guide_takes_each_message_once(
    secret: SecretStr, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    monkeypatch.setenv("WEBHOOK_SECRET", secret.get_secret_value())
    guide: dict[str, object] = {}
    exec(code, guide)  # noqa: S102 -- the guide's own code, as its reader would run it
    receive = guide["receive"]
    assert callable(receive)
    headers = dict(signed_headers(MESSAGE, secret, AT))
    with time_machine.travel(AT, tick=False):
        assert [receive(headers, MESSAGE.body) for _ in range(2)] == [204, 204]
        assert receive(headers, b"forged") == 400
    assert capsys.readouterr().out == "instance.ready i-1\n"


def test_the_guide_names_every_event_that_is_not_in_the_table_too() -> None:
    for name in PublicEvent:
        assert f"`{name}`" in GUIDE


def test_the_guide_counts_the_attempts_right() -> None:
    now, attempts = AT, 1
    while (then := next_attempt(now, attempts, AT + PATIENCE, None)) is not None:
        now, attempts = then, attempts + 1
    assert f"{attempts} attempts" in GUIDE
