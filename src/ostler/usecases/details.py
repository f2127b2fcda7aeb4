"""Looks in full: what the cloud showed of an upstream, kept with its passwords sealed, and read back.

Written by whoever has a single GET in hand (refresh, jobs), read by details, health checks and credentials. A
look decides nothing: what it means for the instance went through `domain/observation.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import SecretStr, TypeAdapter, ValidationError
from sqlalchemy import Connection

from ostler.cloud.upstream import NO_SECRET, Upstream
from ostler.domain.catalogue import Protocol
from ostler.domain.sightings import Sight
from ostler.store.looks import LookRow, find_look, put_look
from ostler.store.sealing import Sealer

_UPSTREAM: TypeAdapter[Upstream] = TypeAdapter(Upstream)
_PASSWORDS: TypeAdapter[Mapping[str, str]] = TypeAdapter(Mapping[str, str])


@dataclass(frozen=True, slots=True)
class Passwords:
    """The ways in that need a secret."""

    ssh: SecretStr = NO_SECRET
    web_terminal: SecretStr = NO_SECRET


def keep_look(connection: Connection, instance_id: str, upstream: Upstream, sealer: Sealer) -> None:
    """Keep what a GET showed in place of the look before."""
    content = _UPSTREAM.dump_json(_without_passwords(upstream)).decode()
    put_look(
        connection,
        LookRow(instance_id, upstream.id, content, _sealed_passwords(upstream, sealer), upstream.observed_at),
    )


def keep_expiry(connection: Connection, instance_id: str, upstream: Upstream) -> None:
    """Keep until when the disk is kept, which a list tells, beside what the last look in full showed."""
    row = find_look(connection, instance_id)
    look = None if row is None else look_in(row.content)
    if row is None or look is None or look.id != upstream.id:
        return
    if look.data_expires_at != upstream.data_expires_at:
        known = replace(look, data_expires_at=upstream.data_expires_at)
        put_look(connection, replace(row, content=_UPSTREAM.dump_json(known).decode()))


def last_look(connection: Connection, instance_id: str) -> Upstream | None:
    """Return the last look, without its passwords."""
    row = find_look(connection, instance_id)
    return None if row is None else look_in(row.content)


def look_in(content: str) -> Upstream | None:
    """Return the look that was kept as this text."""
    try:
        return _UPSTREAM.validate_json(content)
    except ValidationError:  # kept by another version of Ostler: the next look replaces it
        return None


def last_passwords(connection: Connection, instance_id: str, sealer: Sealer) -> Passwords:
    """Return the passwords of the last look that had some."""
    row = find_look(connection, instance_id)
    if row is None or row.passwords is None:
        return Passwords()
    opened = _PASSWORDS.validate_json(sealer.open(row.passwords))
    return Passwords(SecretStr(opened.get("ssh", "")), SecretStr(opened.get("web_terminal", "")))


def exposes_http(connection: Connection, instance_id: str) -> bool:
    """Tell whether an instance was last seen with an HTTP endpoint."""
    look = last_look(connection, instance_id)
    return look is not None and any(each.protocol is Protocol.HTTP for each in look.endpoints)


def sight_of(upstream: Upstream) -> Sight:
    """Return what a look says to the domain."""
    return Sight(
        upstream_id=upstream.id,
        state=upstream.state,
        word=upstream.status,
        requested_at=upstream.observed_at,
        is_detailed=upstream.connection is not None,
        is_reclaimed=upstream.is_reclaimed,
        reclaim_at=upstream.reclaim_at,
        last_started_at=upstream.started_at,
        failure=upstream.error_message or upstream.error_code,
    )


def _without_passwords(upstream: Upstream) -> Upstream:
    if upstream.connection is None:
        return upstream
    bare = replace(upstream.connection, ssh_password=NO_SECRET, web_terminal_password=NO_SECRET)
    return replace(upstream, connection=bare)


def _sealed_passwords(upstream: Upstream, sealer: Sealer) -> bytes | None:
    if upstream.connection is None:
        return None
    secrets = {
        "ssh": upstream.connection.ssh_password.get_secret_value(),
        "web_terminal": upstream.connection.web_terminal_password.get_secret_value(),
    }
    return sealer.seal(_PASSWORDS.dump_json(secrets)) if any(secrets.values()) else None
