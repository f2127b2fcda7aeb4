"""Strategies for whole rows: any value that the domain can hold, so that the store must give it back."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from ostler.domain.attempts import Answer, Attempt, AttemptState, Look
from ostler.domain.catalogue import BillingMode
from ostler.domain.failures import Failure
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.marks import DIGITS
from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey
from ostler.domain.operations import Operation, OperationKind, OperationPhase, Outcome
from ostler.domain.phases import CreatingPhase, StartingPhase, TerminatingPhase
from ostler.domain.sightings import Command
from ostler.domain.spec import InstanceSpec, Limits
from ostler.store.attempts import AttemptRow
from ostler.store.instances import InstanceRow, Placement

# a text as PostgreSQL holds it: no NUL, no lone surrogate
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20)
IDS = st.text(DIGITS, min_size=26, max_size=26)
INSTANTS = st.datetimes(datetime(2020, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 -- given below
SPANS = st.timedeltas(timedelta(), timedelta(days=400))
MONEY = st.builds(Usd, st.integers(0, 10**12))
OFFERS = st.builds(OfferKey, WORDS, WORDS, st.sampled_from(BillingMode))
_POLICIES = st.builds(
    HealthPolicy,
    target_port=st.none() | st.integers(1, 65_535),
    path=TEXTS,
    expect_status=st.frozensets(st.integers(100, 399), max_size=3),
    timeout=SPANS,
    retry_attempts=st.integers(1, 100),
    retry_delay=SPANS,
    max_wait=SPANS,
    interval=SPANS,
)
_LIMITS = st.builds(Limits, ttl=st.none() | SPANS, max_cost=st.none() | MONEY, idle_stop=st.none() | SPANS)
SPECS = st.builds(
    InstanceSpec,
    name=WORDS,
    product_name=TEXTS,
    template_id=TEXTS,
    gpus=st.integers(1, 8),
    rootfs_gb=st.none() | st.integers(10, 1000),
    region=st.none() | TEXTS,
    regions=st.none() | st.lists(TEXTS, max_size=3).map(tuple),
    max_price_per_hour=st.none() | MONEY,
    webhook_url=st.none() | TEXTS,
    limits=_LIMITS,
    health=st.none() | _POLICIES,
    startup_timeout=SPANS,
    envs=st.just({}),
    project=st.none() | WORDS,
    labels=st.dictionaries(WORDS, TEXTS, max_size=3),
    give_up_after=SPANS,
)
FAILURES = st.builds(Failure, at=INSTANTS, message=TEXTS, hint=TEXTS)
_COMMANDS = st.builds(Command, INSTANTS, st.none() | INSTANTS, last_started_before=st.none() | INSTANTS)
_PHASES = {
    State.CREATING: st.sampled_from(CreatingPhase),
    State.STARTING: st.sampled_from(StartingPhase),
    State.TERMINATING: st.sampled_from(TerminatingPhase),
}


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Draw any instance, its phase one of its state's."""
    state = draw(st.sampled_from(State))
    optional_instants = (
        "observed_at",
        "placed_at",
        "start_began_at",
        "ready_at",
        "first_ready_at",
        "reclaim_at",
    )
    given = {name: st.none() | INSTANTS for name in optional_instants}
    return draw(
        st.builds(
            Instance,
            id=IDS,
            name=WORDS,
            spec=SPECS,
            created_at=INSTANTS,
            state=st.just(state),
            phase=st.none() | _PHASES.get(state, st.none()),
            upstream_id=st.none() | IDS,
            predecessor_id=st.none() | IDS,
            upstream_word=TEXTS,
            command=st.none() | _COMMANDS,
            starts=st.integers(0, 1000),
            health=st.none() | _POLICIES,
            failed_probes=st.integers(0, 10),
            error=st.none() | FAILURES,
            version=st.integers(0, 2**40),
            **given,
        )
    )


PLACEMENTS = st.builds(
    Placement,
    st.integers(1, 99),
    OFFERS,
    WORDS,
    TEXTS,
    MONEY,
    storage_price_per_hour=MONEY,
    prepaid=st.none() | MONEY,
)
INSTANCE_ROWS = st.builds(
    InstanceRow,
    instances(),
    st.integers(0, 2**40),
    st.none() | PLACEMENTS,
    st.none() | INSTANTS,
    INSTANTS,
)
OPERATIONS = st.builds(
    Operation,
    id=IDS,
    instance_id=IDS,
    kind=st.sampled_from(OperationKind),
    opened_at=INSTANTS,
    phases=st.lists(st.builds(OperationPhase, TEXTS, INSTANTS, st.none() | INSTANTS), max_size=4).map(tuple),
    outcome=st.none() | st.sampled_from(Outcome),
    ended_at=st.none() | INSTANTS,
    failure=st.none() | FAILURES,
)
ATTEMPT_ROWS = st.builds(
    AttemptRow,
    st.builds(
        Attempt,
        instance_id=IDS,
        number=st.integers(1, 10**6),
        upstream_name=WORDS,
        offer=OFFERS,
        price_per_hour=MONEY,
        state=st.sampled_from(AttemptState),
        owner=st.none() | WORDS,
        deadline_at=st.none() | INSTANTS,
        answer=st.none() | st.sampled_from(Answer),
        answered_at=st.none() | INSTANTS,
        upstream_id=st.none() | IDS,
        detail=TEXTS,
    ),
    WORDS,
    TEXTS,
    INSTANTS,
    st.none() | INSTANTS,
    st.lists(st.builds(Look, INSTANTS, st.booleans(), st.booleans()), max_size=3).map(tuple),
    prepaid=st.none() | MONEY,
)
