"""Secrets in rows: sealed, opened with the right key only, and never where they are not needed."""

import sqlite3
from dataclasses import replace

import pytest
from pydantic import SecretStr

from ostler.domain.lifecycle import State
from ostler.store.sealing import FernetSealer, SealBroken
from tests.support.core import a_wish, an_installation

_CANARY = "canary-0123456789"


def test_what_was_sealed_opens_with_the_same_secret_and_with_no_other() -> None:
    sealed = FernetSealer(SecretStr("one")).seal(b"content")
    assert b"content" not in sealed
    assert FernetSealer(SecretStr("one")).open(sealed) == b"content"
    with pytest.raises(SealBroken):
        FernetSealer(SecretStr("other")).open(sealed)
    with pytest.raises(SealBroken):
        FernetSealer(SecretStr("one")).open(sealed[:-1] + b"x")


def test_a_former_key_opens_and_is_renewed_but_seals_nothing() -> None:
    old, new = FernetSealer(SecretStr("old")), FernetSealer(SecretStr("new"))
    both = FernetSealer(SecretStr("new"), [SecretStr("older"), SecretStr("old")])
    blob = old.seal(b"content")
    assert both.open(blob) == b"content"
    assert new.open(both.seal(b"more")) == b"more"
    renewed = both.renewed(blob)
    assert renewed is not None
    assert new.open(renewed) == b"content"
    assert both.renewed(renewed) is None
    with pytest.raises(SealBroken):
        new.renewed(blob)


@pytest.mark.looptime
async def test_environment_values_reach_the_cloud_and_stand_in_no_row() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        accepted = await ostler.accept(replace(a_wish(), envs={"TOKEN": _CANARY}))
        await ostler.until(accepted.instance_id, State.RUNNING)
        [upstream_id] = home.alive()
        envs = home.simulated.world.instances[upstream_id].envs
        assert {env.key: env.value for env in envs}["TOKEN"] == _CANARY
        driver = home.storage.link.connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        dump = "\n".join(driver.iterdump())
        assert _CANARY not in dump
        assert _CANARY.encode().hex() not in dump.lower()
