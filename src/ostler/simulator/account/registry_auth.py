"""A *registry auth*: a user name and password for a private image registry.

Its name is the registry's host, and two may bear the same one. Saving answers nothing, not even an id; the
list gives the password in clear, as the cloud does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ostler.simulator.account.fields import Fields, Span
from ostler.simulator.refusal import Refusal

LENGTH: Span = (1, 500)


@dataclass(frozen=True, slots=True)
class RegistryAuth:
    """Credentials of a registry."""

    id: str
    account: str
    name: str
    username: str
    password: str


def saved(fields: Fields, account: str, auth_id: str) -> RegistryAuth:
    """Return the credentials that a request asks to keep."""
    return RegistryAuth(
        id=auth_id,
        account=account,
        name=fields.text("name", LENGTH),
        username=fields.text("username", LENGTH),
        password=fields.text("password", LENGTH),
    )


def check_unused(auth: RegistryAuth, used_ids: Iterable[str]) -> None:
    """Refuse to forget credentials that something still pulls its image with."""
    if auth.id in used_ids:
        raise Refusal(400, "IMAGE_AUTH_IN_USE", "image auth in use", {"0": auth.name})
