"""What an account begins with, so that a first look at it is not empty: a private template and its registry.

Real accounts begin empty; this one lets a client try a private image without any preparation.
"""

from dataclasses import dataclass

from ostler.simulator.account.registry_auth import RegistryAuth
from ostler.simulator.account.template import PortGroup, Template


@dataclass(frozen=True, slots=True)
class Beginning:
    """When an account was first seen."""

    account: str
    at: int


def starter_auth(account: str, auth_id: str) -> RegistryAuth:
    """Return credentials of a private registry."""
    return RegistryAuth(auth_id, account, "registry.example.com", "team", "simulated-password")


def starter_template(account: str, template_id: str, auth_id: str, now: int) -> Template:
    """Return a template whose image is in that registry."""
    return Template(
        id=template_id,
        account=account,
        name="private-api",
        image="registry.example.com/team/api:1.4.2",
        readme="An API of one's own on port 8080.",
        registry_auth_id=auth_id,
        start_command="serve --port 8080",
        rootfs_gb=40,
        ports=(PortGroup("http", (8080,)), PortGroup("tcp", (22,))),
        envs=(("LOG_LEVEL", "info"),),
        created_at=now,
    )
