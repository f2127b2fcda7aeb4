"""Reading the basic family: GPU metrics, and the account's money.

Money has a unit of its own here, 1/10000 USD; everywhere else the cloud counts in 1/100000 USD.
"""

from ostler.cloud.novita import wire
from ostler.cloud.novita.wire import Row
from ostler.cloud.upstream import Balance, GpuUse, UseSample

_BILLING_UNIT = 10  # of 1/100000 USD


def balance(answer: object) -> Balance:
    """Read the balance."""
    row = wire.as_row(answer, "body")
    return Balance(
        available=wire.debt_or_credit(row, "availableBalance", _BILLING_UNIT),
        cash=wire.debt_or_credit(row, "cashBalance", _BILLING_UNIT),
        credit_limit=wire.debt_or_credit(row, "creditLimit", _BILLING_UNIT),
        pending_charges=wire.debt_or_credit(row, "pendingCharges", _BILLING_UNIT),
    )


def gpu_use(answer: object) -> GpuUse:
    """Read the averages over an instance's GPUs."""
    row = wire.as_row(answer, "body")
    return GpuUse(
        compute=_samples(wire.inner(row, "gpuUtilization")),
        memory=_samples(wire.inner(row, "gpuMemUtilization")),
    )


def _samples(series: Row) -> tuple[UseSample, ...]:
    samples = []
    for item in wire.rows(series, "avg"):
        row = wire.as_row(item, "avg")
        at = wire.instant(row, "timestamp")
        if at is None:
            raise wire.unreadable(key="timestamp", value=row.get("timestamp"))
        samples.append(UseSample(at, wire.share(row, "value")))
    return tuple(samples)
