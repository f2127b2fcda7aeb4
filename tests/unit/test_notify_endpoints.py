"""What people do with webhooks: requests are read whole, secrets shown once, projects kept apart."""

import base64
import contextlib
from collections.abc import AsyncIterator, Mapping

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from ostler.cloud.reach import Reach
from ostler.domain.errors import FixedBySetting, Missing, OutsideProject, RequestInvalid
from ostler.notify.endpoint_requests import EndpointWish, read_endpoint_wish
from ostler.notify.endpoints import Webhooks
from ostler.notify.keyring import Keyring
from ostler.notify.signing import weakness_of
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.store.sealing import FernetSealer
from ostler.store.webhook_deliveries import DeliveryStatus
from ostler.store.webhook_endpoints import DEFAULT_ID, EndpointFilter, Origin
from ostler.store.webhook_views import DeliveryFilter
from tests.support.cloud import LoopClock

SEALER = FernetSealer(SecretStr("the installation's key"))
URL = "https://hooks.example/"
WISH = EndpointWish(URL)


@pytest.fixture
async def database() -> AsyncIterator[InlineDatabase]:
    storage = InlineStorage(LoopClock())
    with contextlib.closing(storage):
        yield InlineDatabase(storage)


@pytest.fixture
async def webhooks(database: InlineDatabase) -> Webhooks:
    webhooks = Webhooks(database, Keyring(SEALER), LoopClock())
    await webhooks.settle(None)
    return webhooks


def wrong_fields(body: Mapping[str, object]) -> set[str]:
    with pytest.raises(RequestInvalid) as caught:
        read_endpoint_wish(body, Reach())
    return {error.field for error in caught.value.errors}


def test_a_whole_request_is_read() -> None:
    body = {"url": URL, "events": ["instance.*", "instance.*"], "project": "blue", "secret": "plain"}
    wish = read_endpoint_wish(body, Reach())
    assert wish == EndpointWish(URL, ("instance.*",), "blue", SecretStr("plain"))


def test_every_wrong_field_is_told_at_once() -> None:
    body = {"url": "http://10.0.0.1/", "events": ["nope"], "project": 7, "secret": "whsec_AAAA", "hue": "red"}
    assert wrong_fields(body) == {"url", "events", "project", "secret", "hue"}


@pytest.mark.parametrize("events", ["instance.ready", [1], {"a": 1}, ["x"] * 65])
def test_events_must_be_a_list_of_names(events: object) -> None:
    assert wrong_fields({"url": URL, "events": events}) == {"events"}


@pytest.mark.parametrize(
    "secret", [7, "", "whsec_", "whsec_***", "whsec_" + base64.b64encode(b"k" * 65).decode()]
)
def test_a_secret_that_breaks_the_standard_is_refused_and_not_repeated(secret: object) -> None:
    with pytest.raises(RequestInvalid) as caught:
        read_endpoint_wish({"url": URL, "secret": secret}, Reach())
    (error,) = caught.value.errors
    assert (error.field, error.value) == ("secret", None)


def test_a_url_is_required() -> None:
    assert wrong_fields({}) == {"url"}


async def test_a_secret_is_made_kept_sealed_and_returned_once(webhooks: Webhooks) -> None:
    registered = await webhooks.register(WISH, "ann")
    kept = await webhooks.endpoint(registered.endpoint.id)
    assert kept == registered.endpoint
    assert weakness_of(registered.secret) is None
    assert kept.secret is not None
    assert registered.secret.get_secret_value().encode() not in kept.secret
    assert SEALER.open(kept.secret).decode() == registered.secret.get_secret_value()
    assert (kept.origin, kept.created_by) == (Origin.REGISTERED, "ann")


async def test_a_weak_secret_is_taken_with_a_warning(webhooks: Webhooks) -> None:
    registered = await webhooks.register(EndpointWish(URL, secret=SecretStr("weak")), "ann")
    assert registered.warning is not None
    assert (await webhooks.register(WISH, "ann")).warning is None


async def test_a_deleted_endpoint_is_gone_and_the_default_one_stays(webhooks: Webhooks) -> None:
    registered = await webhooks.register(WISH, "ann")
    await webhooks.delete(registered.endpoint.id)
    for endpoint_id in (registered.endpoint.id, "none"):
        with pytest.raises(Missing):
            await webhooks.delete(endpoint_id)
    with pytest.raises(FixedBySetting, match="WEBHOOK_URL"):
        await webhooks.delete(DEFAULT_ID)
    assert [each.id for each in await webhooks.endpoints(EndpointFilter())] == [DEFAULT_ID]


async def test_a_test_is_a_delivery_like_any_other(webhooks: Webhooks) -> None:
    registered = await webhooks.register(WISH, "ann")
    view = await webhooks.test(registered.endpoint.id)
    assert (view.event, view.status, view.attempts) == ("webhook.test", DeliveryStatus.WAITING, 0)
    again, body = await webhooks.delivery(view.id)
    assert again == view
    assert view.message_id in body
    cancelled = await webhooks.cancel(view.id)
    assert cancelled.status is DeliveryStatus.CANCELLED
    assert (await webhooks.replay(view.id)).status is DeliveryStatus.WAITING


async def test_what_belongs_to_another_project_is_as_if_it_were_not(webhooks: Webhooks) -> None:
    registered = await webhooks.register(EndpointWish(URL, project="blue"), "ann")
    view = await webhooks.test(registered.endpoint.id, "blue")
    assert (await webhooks.endpoint(registered.endpoint.id, "blue")).project == "blue"
    with pytest.raises(Missing):
        await webhooks.endpoint(registered.endpoint.id, "red")
    with pytest.raises(Missing):
        await webhooks.delete(registered.endpoint.id, "red")
    with pytest.raises(Missing):
        await webhooks.test(registered.endpoint.id, "red")
    for verb in (webhooks.replay, webhooks.cancel, webhooks.delivery):
        with pytest.raises(Missing):
            await verb(view.id, "red")
    assert await webhooks.deliveries(DeliveryFilter(project="red")) == []
    assert len(await webhooks.deliveries(DeliveryFilter(project="blue"))) == 1


async def test_an_id_that_no_row_can_have_is_missing(webhooks: Webhooks) -> None:
    for delivery_id in (10**30, 0, -1, 7):
        with pytest.raises(Missing):
            await webhooks.delivery(delivery_id)
    assert await webhooks.deliveries(DeliveryFilter(before_id=10**30)) == []


async def test_an_endpoint_of_a_caller_with_a_project_hears_of_this_project_alone(webhooks: Webhooks) -> None:
    for asked in (None, "blue"):
        registered = await webhooks.register(EndpointWish(URL, project=asked), "ann", "blue")
        assert registered.endpoint.project == "blue"
    with pytest.raises(OutsideProject):
        await webhooks.register(EndpointWish(URL, project="red"), "ann", "blue")


async def test_the_installations_secret_is_made_once_and_stays(
    database: InlineDatabase, webhooks: Webhooks
) -> None:
    secret = await webhooks.generated_secret()
    assert secret is not None
    again = Webhooks(database, Keyring(SEALER), LoopClock())
    await again.settle("https://all.example/")
    assert await again.generated_secret() == secret
    assert (await again.endpoint(DEFAULT_ID)).url == "https://all.example/"


async def test_a_configured_secret_goes_before_the_made_one_but_not_before_an_endpoints_own(
    database: InlineDatabase, webhooks: Webhooks
) -> None:
    registered = await webhooks.register(WISH, "ann")
    default = await webhooks.endpoint(DEFAULT_ID)
    keyring = Keyring(SEALER, SecretStr("configured"))
    assert keyring.secret_of(default, default) == SecretStr("configured")
    assert keyring.secret_of(registered.endpoint, default) == registered.secret
    assert await Webhooks(database, keyring, LoopClock()).generated_secret() is None


async def test_deliveries_to_a_default_receiver_that_was_taken_away_are_cancelled(
    webhooks: Webhooks,
) -> None:
    with pytest.raises(FixedBySetting, match="WEBHOOK_URL"):
        await webhooks.test(DEFAULT_ID)
    await webhooks.settle("https://all.example/")
    view = await webhooks.test(DEFAULT_ID)
    await webhooks.settle("https://other.example/")
    assert (await webhooks.delivery(view.id))[0].status is DeliveryStatus.WAITING
    await webhooks.settle(None)
    assert (await webhooks.delivery(view.id))[0].status is DeliveryStatus.CANCELLED


@pytest.mark.parametrize(("text", "is_warned_of"), [("short", True), ("whsec_*", True), ("k" * 24, False)])
async def test_a_weak_configured_secret_is_warned_of_at_start(
    database: InlineDatabase, text: str, *, is_warned_of: bool
) -> None:
    with capture_logs() as logs:
        await Webhooks(database, Keyring(SEALER, SecretStr(text)), LoopClock()).settle(None)
    assert bool(logs) is is_warned_of
    assert text not in str(logs)
