"""The book of faults: which calls are struck, how often, and what their callers get."""

import orjson
import pytest

from ostler.simulator.exchange import ErrorBody, Hangup, Reply, Silence
from ostler.simulator.faults import Fault, FaultBook, FaultKind

CREATE = ("POST /gpu-instance/openapi/v1/gpu/instance/create",)
LIST = ("GET /gpu-instance/openapi/v1/gpu/instances",)
RIGHT = Reply(200, b'{"id":"3560b7fec915bbf9"}')


def a_book(*faults: Fault, seed: int = 0) -> FaultBook:
    book = FaultBook(seed)
    for fault in faults:
        book.add(fault)
    return book


def test_a_fault_strikes_so_many_calls_of_its_route_and_is_gone() -> None:
    book = a_book(Fault(1, FaultKind.RATE_LIMIT, route="POST *create", times=2))

    struck = [len(book.draw(names)) for names in (CREATE, LIST, CREATE, CREATE)]

    assert struck == [1, 0, 1, 0]
    assert book.all() == []


def test_a_share_strikes_that_share_and_repeats_with_its_seed() -> None:
    runs = []
    for _ in range(2):
        book = a_book(Fault(1, FaultKind.RATE_LIMIT, times=None, share=0.3), seed=7)
        runs.append([bool(book.draw(LIST)) for _ in range(1_000)])

    assert runs[0] == runs[1]
    assert 250 < sum(runs[0]) < 350


def test_a_share_can_be_limited_in_number() -> None:
    book = a_book(Fault(1, FaultKind.RATE_LIMIT, times=3, share=0.5))

    assert sum(bool(book.draw(LIST)) for _ in range(100)) == 3


def test_latency_goes_with_another_fault_but_two_others_do_not_meet() -> None:
    book = a_book(
        Fault(1, FaultKind.LATENCY, seconds=1),
        Fault(2, FaultKind.RESET_AFTER),
        Fault(3, FaultKind.RATE_LIMIT),
    )

    first, second = book.draw(CREATE), book.draw(CREATE)

    assert [fault.id for fault in first] == [1, 2]
    assert [fault.id for fault in second] == [3]


def test_faults_are_taken_back_one_by_one_or_all() -> None:
    book = a_book(*(Fault(number, FaultKind.RATE_LIMIT) for number in (1, 2, 3)))

    taken = [book.take_back(number) for number in (2, 2, 99)]
    left = [fault.id for fault in book.all()]
    book.clear()

    assert taken == [True, False, False]
    assert left == [1, 3]
    assert book.all() == []


@pytest.mark.parametrize(
    ("kind", "effect"),
    [
        (FaultKind.LATENCY, True),
        (FaultKind.RATE_LIMIT, False),
        (FaultKind.STATUS, False),
        (FaultKind.REFUSAL, False),
        (FaultKind.NO_CAPACITY, False),
        (FaultKind.RESET_BEFORE, False),
        (FaultKind.RESET_AFTER, True),
        (FaultKind.TIMEOUT_BEFORE, False),
        (FaultKind.TIMEOUT_AFTER, True),
        (FaultKind.MALFORMED_JSON, True),
        (FaultKind.LATE_IN_LISTS, True),
    ],
)
def test_it_is_known_of_every_fault_whether_the_call_takes_effect(kind: FaultKind, effect: bool) -> None:  # noqa: FBT001 -- a column of the table
    assert Fault(1, kind).takes_effect is effect


@pytest.mark.parametrize("kind", [FaultKind.STATUS, FaultKind.REFUSAL])
def test_an_error_page_can_come_after_the_effect(kind: FaultKind) -> None:
    assert Fault(1, kind, after=True).takes_effect


def test_what_callers_get() -> None:
    assert Fault(1, FaultKind.RESET_AFTER).spoil(RIGHT) == Hangup()
    assert Fault(1, FaultKind.TIMEOUT_AFTER).spoil(RIGHT) == Silence()
    assert Fault(1, FaultKind.LATE_IN_LISTS).spoil(RIGHT) == RIGHT


def test_half_of_the_json_is_no_json() -> None:
    outcome = Fault(1, FaultKind.MALFORMED_JSON).spoil(RIGHT)

    assert isinstance(outcome, Reply)
    assert outcome.status == 200
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(outcome.body)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_answers_with_a_page_and_no_envelope(status: int) -> None:
    outcome = Fault(1, FaultKind.STATUS, status=status).spoil(None)

    assert isinstance(outcome, Reply)
    assert (outcome.status, outcome.content_type) == (status, "text/html")


def test_the_cloud_itself_answers_500_with_its_envelope() -> None:
    outcome = Fault(1, FaultKind.STATUS, status=500).spoil(None)

    assert isinstance(outcome, Reply)
    assert orjson.loads(outcome.body) == {
        "code": 500,
        "reason": "UNKNOWN",
        "message": "unknown error",
        "metadata": {},
    }


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (ErrorBody.MESSAGE, b'{"message":"insufficient resource"}'),
        (ErrorBody.ERROR, b'{"error":"insufficient resource"}'),
        (ErrorBody.EMPTY, b""),
    ],
)
def test_a_refusal_comes_in_the_form_that_was_asked_for(form: ErrorBody, body: bytes) -> None:
    outcome = Fault(1, FaultKind.NO_CAPACITY, body=form).spoil(None)

    assert isinstance(outcome, Reply)
    assert (outcome.status, outcome.body) == (400, body)


def test_a_rate_limit_says_when_to_come_back_if_it_was_told() -> None:
    told = Fault(1, FaultKind.RATE_LIMIT, retry_after=7).spoil(None)
    untold = Fault(1, FaultKind.RATE_LIMIT).spoil(None)

    assert isinstance(told, Reply)
    assert isinstance(untold, Reply)
    assert (told.status, told.headers) == (429, (("retry-after", "7"),))
    assert untold.headers == ()
