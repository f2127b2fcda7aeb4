"""API keys: which account a key opens.

Any key opens the account `default`, unless a control has said otherwise of it.
"""

from dataclasses import dataclass
from enum import StrEnum

from ostler.simulator.refusal import key_refused, unauthorized
from ostler.simulator.world import Kind, World

DEFAULT_ACCOUNT = "default"
_BEARER = "bearer "


class Verdict(StrEnum):
    """What a key is good for."""

    OPENS = "opens"  # an account
    INVALID = "invalid"  # nobody knows it: 401
    FORBIDDEN = "forbidden"  # refused in the other form: 403 INVALID_API_KEY


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a control has spoken about."""

    key: str
    verdict: Verdict = Verdict.OPENS
    account: str = DEFAULT_ACCOUNT


KEYS = Kind("key", Key)


def account_of(world: World, authorization: str) -> str:
    """Return the account that an Authorization header opens, or refuse it."""
    if not authorization.lower().startswith(_BEARER):
        raise unauthorized()
    word = authorization[len(_BEARER) :].strip()
    if not word:
        raise unauthorized()
    key = world.rows(KEYS).get(word, Key(word))
    match key.verdict:
        case Verdict.OPENS:
            return key.account
        case Verdict.INVALID:
            raise unauthorized()
        case Verdict.FORBIDDEN:
            raise key_refused()
