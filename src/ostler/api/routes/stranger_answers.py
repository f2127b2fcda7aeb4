"""What routes show of an upstream that no row has, in the words that rows are shown in.

Its id is the cloud's. What it would be to us once adopted is its status; the cloud's word stands beside it.
"""

from ostler.api.routes.instance_answers import InstanceSummary
from ostler.domain.consistency import Source
from ostler.domain.lifecycle import adopted_state
from ostler.store.sightings import Sighting
from ostler.usecases.picture import Picture


def stranger_of(found: Sighting, picture: Picture) -> InstanceSummary:
    """Return an upstream as lists show it."""
    return InstanceSummary(
        id=found.upstream_id,
        source=Source.NOVITA,
        novita_instance_id=found.upstream_id,
        name=found.name,
        status=adopted_state(found.state),
        phase=None,
        upstream_status=found.word,
        product_name=found.product_name,
        template_id="",
        gpu_num=found.gpus,
        region=found.region or None,
        billing_mode=None,
        price_per_hour=None if found.price_per_hour is None else found.price_per_hour.amount,
        project=None,
        labels={},
        created_at=found.created_at or found.first_seen_at,
        ready_at=None,
        first_ready_at=None,
        last_used_at=None,
        observed_at=picture.observed_at(found.upstream_id, found.first_seen_at, found.last_seen_at),
        stop_reason=None,
        error=None,
    )
