"""What is exported of the rows: work, instances, money, webhooks; from the tally, so that no scrape waits.

The counts are of the whole installation: every replica exports the same, so take `max`, not `sum`. How old
they are is exported beside them.
"""

from collections.abc import Callable, Iterable

from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.operations import OperationKind
from ostler.store.jobs import JobStatus
from ostler.store.tallies import Billed, OpenCount, Tallies
from ostler.store.webhook_deliveries import DeliveryStatus
from ostler.telemetry.metrics import Metrics, Sample
from ostler.usecases.tally import Tally

_BESIDE = tuple(kinship for kinship in Kinship if kinship is not Kinship.OURS)
_UNDELIVERED = (DeliveryStatus.WAITING, DeliveryStatus.SENDING)
_NONE = OpenCount()
Samples = Iterable[Sample]


def watch_rows(metrics: Metrics, tally: Tally) -> None:
    """Have the metrics read the last counts at each scrape."""

    def watch(name: str, text: str, labels: tuple[str, ...], read: Callable[[Tallies], Samples]) -> None:
        metrics.watch(name, text, labels, lambda: () if tally.last is None else read(tally.last))

    watch("ostler_jobs_open", "Jobs that wait or run.", ("kind", "priority", "status"), _jobs)
    text = "For how long the first of the waiting jobs has been due."
    watch("ostler_job_oldest_due_age_seconds", text, ("kind", "priority"), _job_ages)
    watch("ostler_operations_open", "Changes of instances under way.", ("kind",), _operations)
    text = "For how long the first of the open operations has been under way."
    watch("ostler_operation_oldest_age_seconds", text, ("kind",), _operation_ages)
    watch("ostler_instances", "Instances by state.", ("state",), _instances)
    watch("ostler_price_per_hour_dollars", "What our instances are billed per hour.", (), _price)
    text = "Upstreams that are billed and no row's own: orphans, duplicates, strangers."
    watch("ostler_unowned_upstreams", text, ("kinship",), _unowned)
    text = "What upstreams that are no row's own are billed per hour."
    watch("ostler_unowned_price_per_hour_dollars", text, ("kinship",), _unowned_price)
    watch("ostler_webhook_deliveries_open", "Webhooks not yet delivered.", ("status",), _deliveries)
    text = "Age of the oldest webhook that is not yet delivered."
    watch("ostler_webhook_delivery_oldest_age_seconds", text, (), _delivery_age)
    metrics.watch("ostler_tally_age_seconds", "Age of the counts over all rows.", (), lambda: _age(tally))


def _age(tally: Tally) -> Samples:
    return [] if tally.age is None else [((), tally.age.total_seconds())]


def _jobs(counted: Tallies) -> Samples:
    return (((each.kind, each.priority.name.lower(), each.status), each.count) for each in counted.jobs)


def _job_ages(counted: Tallies) -> Samples:
    waiting = (each for each in counted.jobs if each.status is JobStatus.WAITING)
    return (((each.kind, each.priority.name.lower()), each.oldest.total_seconds()) for each in waiting)


def _operations(counted: Tallies) -> Samples:
    return (((kind,), counted.operations.get(kind, _NONE).count) for kind in OperationKind)


def _operation_ages(counted: Tallies) -> Samples:
    found = counted.operations
    return (((kind,), found.get(kind, _NONE).oldest.total_seconds()) for kind in OperationKind)


def _instances(counted: Tallies) -> Samples:
    return (((state,), counted.instances.get(state, 0)) for state in State)


def _price(counted: Tallies) -> Samples:
    return [((), float(counted.price_per_hour.amount))]


def _unowned(counted: Tallies) -> Samples:
    return (((_label(kin),), counted.beside.get(kin, Billed()).count) for kin in _BESIDE)


def _unowned_price(counted: Tallies) -> Samples:
    found = counted.beside
    return (((_label(kin),), float(found.get(kin, Billed()).price_per_hour.amount)) for kin in _BESIDE)


def _deliveries(counted: Tallies) -> Samples:
    return (((status,), counted.deliveries.get(status, _NONE).count) for status in _UNDELIVERED)


def _delivery_age(counted: Tallies) -> Samples:
    ages = (each.oldest.total_seconds() for each in counted.deliveries.values())
    return [((), max(ages, default=0.0))]


def _label(kinship: Kinship) -> str:
    return kinship.value.replace(" ", "_")
