"""v1 network storages: list, create, update, delete.

The list's page parameter is `pageNo`, not `pageNum`; what a create answers with is a matter of manners.
"""

from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.kinds import STORAGES, find_owned, forget, keep, listed_of, manners
from ostler.simulator.account.network_storage import (
    PRICE_PER_GB_DAY,
    CreateAnswer,
    NetworkStorage,
    changed,
    check_unmounted,
    checked,
    unsupported,
)
from ostler.simulator.account.paging import DEFAULT_PAGE_SIZE, numbered_page
from ostler.simulator.account.paths import V1
from ostler.simulator.accounting import charge_storage, require_balance
from ostler.simulator.face import Call, Route
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.world import World


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    found = [
        storage
        for storage in listed_of(world, STORAGES, call.account)
        if query.text("storageName").casefold() in storage.name.casefold()
        and query.text("storageId") in {"", storage.id}
    ]
    page = numbered_page(found, query.number("pageNo"), query.number("pageSize", default=DEFAULT_PAGE_SIZE))
    return {"data": [storage_json(world, storage) for storage in page], "total": len(found)}


def _create(world: World, call: Call) -> object:
    fields = Fields(call.body)
    cluster = world.clusters.get(fields.text("clusterId"))
    if cluster is None:
        raise bad_parameter(message=f"invalid clusterId: there is no cluster {fields.text('clusterId')!r}")
    if not cluster.has_network_storage:
        raise unsupported(cluster.name)
    require_balance(world, call.account)
    storage = checked(
        NetworkStorage(
            id=world.new_id(STORAGES.name),
            account=call.account,
            name=fields.text("storageName"),
            size_gb=fields.number("storageSize"),
            cluster_id=cluster.id,
            created_at=int(world.now),
        )
    )
    keep(world, STORAGES, storage)
    charge_storage(world, storage)
    if manners(world).storage_create is CreateAnswer.STRING:
        return storage.id
    return storage_json(world, storage)


def _update(world: World, call: Call) -> object:
    fields = Fields(call.body)
    present = find_owned(world, STORAGES, call.account, fields.text("storageId"))
    storage = changed(
        present,
        name=fields.text("storageName", default=present.name),
        size_gb=fields.number("storageSize", default=present.size_gb),
    )
    keep(world, STORAGES, storage)
    charge_storage(world, storage)
    return {}


def _delete(world: World, call: Call) -> object:
    storage = find_owned(world, STORAGES, call.account, Fields(call.body).text("storageId"))
    mounted = (volume.id for instance in world.fleet(call.account) for volume in instance.volumes)
    check_unmounted(storage, frozenset(mounted))
    forget(world, STORAGES, storage)
    charge_storage(world, storage, is_there=False)
    return {}


def storage_json(world: World, storage: NetworkStorage) -> dict[str, object]:
    """Return a storage as v1 shows it."""
    return {
        "storageId": storage.id,
        "storageName": storage.name,
        "storageSize": storage.size_gb,
        "clusterId": storage.cluster_id,
        "clusterName": world.clusters[storage.cluster_id].name,
        "price": str(PRICE_PER_GB_DAY),
    }


ROUTES = (
    Route("GET", f"{V1}/networkstorages/list", _list),
    Route("POST", f"{V1}/networkstorage/create", _create),
    Route("POST", f"{V1}/networkstorage/update", _update),
    Route("POST", f"{V1}/networkstorage/delete", _delete),
)
