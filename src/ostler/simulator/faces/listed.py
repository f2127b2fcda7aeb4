"""Which instances a list shows, for both faces: all that lists know of by now, narrowed by filters.

A fleet may be large, and a filter looks at all of it: so each is one pass without a call per instance.
"""

from collections.abc import Sequence

from ostler.simulator.faces.instance_json import shown_status
from ostler.simulator.instance import Instance
from ostler.simulator.world import World


def known_to_lists(world: World, account: str) -> Sequence[Instance]:
    """Return an account's instances, oldest first, without those that lists do not know yet."""
    members = world.fleet(account).members
    late = world.late_ids()
    return [instance for instance in members if instance.id not in late] if late else members


def shown_in(world: World, instances: Sequence[Instance], status: str) -> Sequence[Instance]:
    """Return those that lists show in a status; in all if it is empty."""
    if not status:
        return instances
    return [
        each
        for each in instances
        if (each.status if each.shown_status is None else shown_status(world, each)) == status
    ]
