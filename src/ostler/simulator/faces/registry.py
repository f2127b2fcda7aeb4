"""v1 registry credentials: list, save, delete.

Saving answers no id, so that a client lists to find it; the list shows passwords in clear.
"""

from ostler.simulator.account.fields import Fields
from ostler.simulator.account.kinds import (
    ENDPOINTS,
    REGISTRY_AUTHS,
    TEMPLATES,
    find_owned,
    forget,
    keep,
    listed_of,
    owned_by,
)
from ostler.simulator.account.paths import V1
from ostler.simulator.account.registry_auth import check_unused, saved
from ostler.simulator.face import Call, Route
from ostler.simulator.world import World


def _list(world: World, call: Call) -> object:
    return {
        "data": [
            {"id": auth.id, "name": auth.name, "username": auth.username, "password": auth.password}
            for auth in listed_of(world, REGISTRY_AUTHS, call.account)
        ]
    }


def _save(world: World, call: Call) -> object:
    auth = saved(Fields(call.body), call.account, world.new_id(REGISTRY_AUTHS.name))
    keep(world, REGISTRY_AUTHS, auth)
    return {}


def _delete(world: World, call: Call) -> object:
    auth = find_owned(world, REGISTRY_AUTHS, call.account, Fields(call.body).text("id"))
    check_unused(auth, _auths_in_use(world, call.account))
    forget(world, REGISTRY_AUTHS, auth)
    return {}


def _auths_in_use(world: World, account: str) -> set[str]:
    """Return the credentials that something of the account would pull an image with."""
    return {
        *(instance.image_auth_id for instance in world.fleet(account)),
        *(template.registry_auth_id for template in owned_by(world, TEMPLATES, account)),
        *(endpoint.registry_auth_id for endpoint in owned_by(world, ENDPOINTS, account)),
    }


ROUTES = (
    Route("GET", f"{V1}/repository/auths", _list),
    Route("POST", f"{V1}/repository/auth/save", _save),
    Route("POST", f"{V1}/repository/auth/delete", _delete),
)
