"""Telling rows what was seen of their upstreams: each in one fenced transaction of its own.

Whether a sight is believed, and what follows from it, is the domain's business. What changed nothing
although it was believed is remembered, so that it is not told again at every pass.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from ostler.cloud.upstream import Upstream
from ostler.domain.sightings import Belief, belief
from ostler.engine.leader import Term
from ostler.store.instances import InstanceRow, find_instance
from ostler.usecases.details import sight_of
from ostler.usecases.record import Occasion
from ostler.watch.comparing import Fingerprint, News, fingerprint, is_unsettled
from ostler.watch.each import each
from ostler.watch.tower import Tower


async def tell(tower: Tower, term: Term, news: Sequence[News]) -> Mapping[str, Fingerprint]:
    """Tell rows what was seen; return what was believed and changed nothing."""

    async def one(item: News) -> tuple[str, Fingerprint] | None:
        before, after = await note(tower, term, item.row.id, item.upstream)
        return _idle(item, before, after, tower.occasion())

    told = await each(news, one, lambda item: item.row.id)
    return dict(item for item in told if item is not None)


async def note(
    tower: Tower, term: Term, instance_id: str, upstream: Upstream
) -> tuple[InstanceRow | None, InstanceRow]:
    """Take in one look; return the row before and after it."""
    occasion = tower.occasion()

    def work(connection: Connection) -> tuple[InstanceRow | None, InstanceRow]:
        before = find_instance(connection, instance_id)
        return before, tower.observation.note(connection, instance_id, upstream, occasion).row

    return await term.write(work)


def _idle(
    item: News, before: InstanceRow | None, after: InstanceRow, occasion: Occasion
) -> tuple[str, Fingerprint] | None:
    """Return a fingerprint where telling the same again would be in vain."""
    if before is None or before.instance.version != after.instance.version:
        return None
    instance, sight = before.instance, sight_of(item.upstream)
    is_believed = belief(sight, instance.command, instance.observed_at, occasion.at) is Belief.NEWS
    if not is_believed or is_unsettled(instance.state.value, sight.state):
        return None
    row = item.row._replace(version=after.instance.version)
    return item.upstream.id, fingerprint(row, item.upstream)
