"""What is refused at once, and what is accepted although the cloud is away: nothing half-done in between."""

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from ostler.cloud.lane import Lane
from ostler.domain.attempts import AttemptState
from ostler.domain.catalogue import BillingMode, Channel
from ostler.domain.errors import AskedWrongly, Missing, NoOfferAnywhere, RequestInvalid, TemplateUnusable
from ostler.domain.failures import FailureCode
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.phases import CreatingPhase
from ostler.domain.spec import InstanceSpec
from ostler.simulator import stockroom
from ostler.simulator.account.kinds import REGISTRY_AUTHS
from ostler.simulator.instance import Mode
from ostler.simulator.market import Shelf
from ostler.store.attempts import attempts_of
from ostler.store.catalogue_snapshots import all_snapshots
from ostler.store.instances import instances
from ostler.usecases.market import CatalogueUnknown
from tests.support.core import Installation, Ostler, a_wish, an_installation
from tests.support.simulator import refused, timeout_before_effect

pytestmark = pytest.mark.looptime

_PRODUCTS = "GET /gpu-instance/openapi/v1/products"
_SOLD_OUT = "H100 SXM 80GB"  # sold on demand only, in two regions


async def _rows(ostler: Ostler) -> int:
    return await ostler.database.read(
        lambda connection: connection.execute(select(func.count()).select_from(instances)).scalar_one()
    )


def _sell_out(home: Installation, free: int = 0) -> None:
    for cluster in ("us-ca-6", "eu-gb-1"):
        shelf = Shelf("H100-80GB.20c240g", cluster, Mode.ON_DEMAND, free=free, capacity=32)
        stockroom.fill(home.simulated.world, shelf)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (a_wish(product_name="RTX 9090"), Missing),
        (replace(a_wish(), template_id="no such"), Missing),
        (replace(a_wish(), region="MOON-01"), RequestInvalid),
        (replace(a_wish(), max_price_per_hour=Usd(1)), NoOfferAnywhere),
        (a_wish(product_name="RTX 6000 Ada 48GB"), NoOfferAnywhere),
        (replace(a_wish(product_name=_SOLD_OUT), billing_mode=BillingMode.SPOT), NoOfferAnywhere),
    ],
    ids=["product", "template", "region", "price cap", "stock", "never sold so"],
)
async def test_what_cannot_be_is_refused_now_and_nothing_is_stored(
    spec: InstanceSpec, expected: type[AskedWrongly]
) -> None:
    async with an_installation() as home:
        ostler = await home.process()
        with pytest.raises(expected):
            await ostler.accept(spec)
        assert await _rows(ostler) == 0


async def test_a_refusal_names_every_region_of_the_cloud_with_its_reason() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        with pytest.raises(NoOfferAnywhere) as refused:
            await ostler.accept(a_wish(product_name="RTX 6000 Ada 48GB"))
        told = refused.value.details["regions"]
        assert isinstance(told, list)
        assert {each["region"] for each in told} >= {"US-CA-06", "EU-GB-01", "US-CA-03", "CN-HK-01"}


async def test_a_template_that_the_cloud_cannot_run_is_refused_by_field() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        async with home.simulated.client() as client:
            made = await client.post(
                "/gpu-instance/openapi/v1/template/create",
                json={
                    "template": {
                        "name": "broken",
                        "type": "instance",
                        "channel": "private",
                        "image": "ubuntu:22.04",
                        "rootfsSize": 60,
                        "envs": [{"key": "TWICE", "value": "1"}, {"key": "TWICE", "value": "2"}],
                    }
                },
            )
        with pytest.raises(TemplateUnusable, match="envs") as refused:
            await ostler.accept(replace(a_wish(), template_id=made.json()["templateId"]))
        assert refused.value.code == "TEMPLATE_INVALID"


async def _a_private_wish(ostler: Ostler) -> InstanceSpec:
    """Return a wish for the account's own template, whose image is in a private registry."""
    [template] = await ostler.cloud.templates(Channel.PRIVATE, lane=Lane.USER)
    assert template.registry_auth_id
    return replace(a_wish(), template_id=template.id)


async def test_an_image_of_a_registry_that_the_account_has_no_credentials_for_names_them_and_fails() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        wish = await _a_private_wish(ostler)
        home.simulated.world.rows(REGISTRY_AUTHS).clear()
        accepted = await ostler.accept(wish)
        failed = await ostler.until(accepted.instance_id, State.FAILED)
        assert failed.error is not None
        assert failed.error.code is FailureCode.REGISTRY_AUTH_FAILED
        assert wish.template_id in failed.error.message
        assert home.ever_billed() == []


async def test_credentials_that_the_cloud_refuses_by_their_id_are_sent_in_full_and_kept_nowhere() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        wish = await _a_private_wish(ostler)
        home.simulated.next_create(refused("IMAGE_URL_OR_AUTH_ERROR"))
        accepted = await ostler.accept(wish)
        running = await ostler.until(accepted.instance_id, State.RUNNING)
        assert home.ever_billed() == [running.upstream_id]
        assert home.simulated.world.instances[running.upstream_id or ""].image_auth_id == ""
        [row] = await ostler.database.read(lambda connection: attempts_of(connection, running.id))
        assert row.attempt.state is AttemptState.PLACED
        kept = home.storage.link.connection.connection.driver_connection
        assert kept is not None
        assert "simulated-password" not in "".join(kept.iterdump())


async def test_a_registry_that_refuses_the_credentials_too_fails_the_create_once() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        home.simulated.next_call("POST *create", refused("IMAGE_URL_OR_AUTH_ERROR"), times=2)
        accepted = await ostler.accept(await _a_private_wish(ostler))
        failed = await ostler.until(accepted.instance_id, State.FAILED)
        assert failed.error is not None
        assert "IMAGE_URL_OR_AUTH_ERROR" in failed.error.message
        assert home.ever_billed() == []


async def test_a_plan_writes_nothing_and_asks_nothing_of_the_cloud() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        prospect = await ostler.create.plan(a_wish())
        assert [offer.region.code for offer in prospect.plan.candidates][:1] == ["US-CA-06"]
        prices = [
            offer.price_per_hour for offer in prospect.plan.candidates if offer.region.code == "US-CA-06"
        ]
        assert prices == sorted(prices)
        assert prospect.rootfs_gb == 60
        assert await _rows(ostler) == 0
        assert not await ostler.database.inner.read(all_snapshots)  # what was read is kept behind its back
        assert home.ever_billed() == []


async def test_a_wish_that_waits_for_stock_is_accepted_and_placed_once_there_is_some() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        _sell_out(home)
        wish = replace(a_wish(product_name=_SOLD_OUT), retry_until_available=True)
        accepted = await ostler.accept(wish)
        await ostler.clock.sleep(120)
        waiting = await ostler.instance(accepted.instance_id)
        assert (waiting.state, waiting.phase) == (State.CREATING, CreatingPhase.WAITING_FOR_STOCK)
        _sell_out(home, free=8)
        await ostler.clock.sleep(35)  # however long products are believed
        assert (await ostler.instance(accepted.instance_id)).state is State.STARTING
        assert len(home.ever_billed()) == 1


async def test_all_who_wait_for_the_same_stock_look_at_it_together_and_not_too_often() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        _sell_out(home)
        wish = replace(
            a_wish(product_name=_SOLD_OUT), retry_until_available=True, regions=("US-CA-06", "EU-GB-01")
        )
        for _ in range(4):
            await ostler.accept(wish)
            await ostler.clock.sleep(7)
        await ostler.clock.sleep(60)
        before = home.simulated.calls_of(_PRODUCTS)
        await ostler.clock.sleep(300)
        calls = home.simulated.calls_of(_PRODUCTS) - before
        elsewhere = len(home.simulated.world.clusters) - 2  # read once, for the reasons
        assert 5 <= (calls - elsewhere) / 2 <= 10


async def test_nothing_is_refused_by_what_was_sold_out_half_a_minute_ago() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        _sell_out(home)
        wish = replace(a_wish(product_name=_SOLD_OUT), region="US-CA-06")
        with pytest.raises(NoOfferAnywhere):
            await ostler.accept(wish)
        _sell_out(home, free=8)
        before = home.simulated.calls_of(_PRODUCTS)
        with pytest.raises(NoOfferAnywhere):
            await ostler.accept(wish)
        assert home.simulated.calls_of(_PRODUCTS) == before
        await ostler.clock.sleep(31)
        accepted = await ostler.accept(wish)
        await ostler.until(accepted.instance_id, State.RUNNING)


async def test_waiting_for_stock_has_an_end() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        _sell_out(home)
        wish = a_wish(product_name=_SOLD_OUT)
        patient = replace(wish, retry_until_available=True, give_up_after=wish.startup_timeout)
        accepted = await ostler.accept(patient)
        failed = await ostler.until(accepted.instance_id, State.FAILED, within_s=900)
        assert failed.error is not None
        assert failed.error.code is FailureCode.NO_OPTIMAL_PRODUCT
        assert "US-CA-06: sold out, the cloud says" in failed.error.message
        assert "not among the regions" not in failed.error.message


async def test_without_a_cloud_what_was_for_sale_is_remembered_over_a_restart() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        first = await ostler.accept(a_wish("first"))
        await ostler.until(first.instance_id, State.RUNNING)
        await ostler.stop()
        home.simulated.share_of_calls("*", timeout_before_effect(), 1.0)
        heir = await home.process()
        began = heir.clock.monotonic()
        accepted = await heir.accept(a_wish("second"))
        assert heir.clock.monotonic() - began < 5
        of_three = await heir.create.plan(replace(a_wish(), gpus=3))  # as many were never asked for
        assert of_three.plan.candidates
        home.simulated.all_is_well()
        await heir.until(accepted.instance_id, State.RUNNING, within_s=900)
        assert len(home.ever_billed("second")) == 1


async def test_with_neither_a_cloud_nor_a_memory_nothing_is_accepted_and_the_wait_is_short() -> None:
    async with an_installation() as home:
        home.simulated.share_of_calls("*", timeout_before_effect(), 1.0)
        ostler = await home.process()
        began = ostler.clock.monotonic()
        with pytest.raises(CatalogueUnknown) as unknown:
            await ostler.accept(a_wish())
        assert ostler.clock.monotonic() - began <= 2.5
        assert unknown.value.retry_after_s >= 1
        assert await _rows(ostler) == 0


async def test_a_price_that_the_cloud_did_not_keep_is_told_and_charged() -> None:
    async with an_installation() as home:
        ostler = await home.process()
        accepted = await ostler.accept(replace(a_wish(), billing_mode=BillingMode.ON_DEMAND))
        await ostler.clock.sleep(0.01)
        [upstream_id] = home.alive()
        home.simulated.world.instances[upstream_id].price_per_hour *= 2
        await ostler.until(accepted.instance_id, State.RUNNING)
        row = await ostler.row(accepted.instance_id)
        names = [event.name.value for event in await ostler.events(accepted.instance_id)]
    assert "instance.offer_mismatch" in names
    assert row.placement is not None
    assert row.placement.price_per_hour == Usd(70_000)
