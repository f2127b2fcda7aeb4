"""What a create does next; and at random, that it never keeps two instances, nor two calls in flight."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.attempts import (
    OPEN_STATES,
    Answer,
    Attempt,
    AttemptState,
    answered,
    called,
    found,
    placed,
    settled_absent,
    taken_over,
    withdrawn,
)
from ostler.domain.catalogue import BillingMode
from ostler.domain.lifecycle import State
from ostler.domain.offers import OfferKey
from ostler.domain.phases import CreatingPhase, Wanted
from ostler.domain.provision_steps import (
    AwaitAnswer,
    Decision,
    GiveUp,
    Have,
    LookUp,
    NothingPlaced,
    Place,
    SendIntended,
    Step,
    Terms,
    Withdraw,
    classify,
    may_place,
    next_step,
)
from tests.support.builders import a_call, a_spec, after, an_attempt, an_instance, an_offer_key

NEAR, FAR = an_offer_key(region_id="near"), an_offer_key(region_id="far")
OFFERS = [NEAR, FAR]
TERMS = Terms()
UNWANTED = Terms(is_wanted=False)


def ended(number: int, answer: Answer, offer: OfferKey = NEAR) -> Attempt:
    return answered(a_call(number, offer), answer, after(5))


def lost(number: int, offer: OfferKey = NEAR) -> Attempt:
    return settled_absent(ended(number, Answer.LOST, offer))


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (Answer.PLACED, Decision.RECORD),
        (Answer.NO_CAPACITY, Decision.NEXT_AND_REMEMBER_SOLD_OUT),
        (Answer.REFUSED_HERE, Decision.NEXT_CANDIDATE),
        (Answer.REFUSED, Decision.FAIL),
        (Answer.THROTTLED, Decision.SAME_CANDIDATE_LATER),
        (Answer.UNSENT, Decision.SAME_CANDIDATE_LATER),
        (Answer.LOST, Decision.LOOK_UP),
    ],
)
def test_the_class_of_the_answer_decides(answer: Answer, decision: Decision) -> None:
    assert classify(answer, 1) is decision


@pytest.mark.parametrize(
    ("in_a_row", "do_others_pass", "decision"),
    [
        (2, True, Decision.SAME_CANDIDATE_LATER),
        (3, True, Decision.FAIL),
        (3, False, Decision.SAME_CANDIDATE_LATER),
    ],
)
def test_three_throttles_while_others_pass_are_a_quota(
    in_a_row: int,
    do_others_pass: bool,  # noqa: FBT001 -- a case's condition
    decision: Decision,
) -> None:
    assert classify(Answer.THROTTLED, in_a_row, do_others_pass=do_others_pass) is decision


def test_the_first_candidate_comes_first() -> None:
    assert next_step([], OFFERS, TERMS) == Place(NEAR, 1)


def test_without_candidates_there_is_nothing_to_try() -> None:
    assert next_step([], [], TERMS) == GiveUp(None)


def test_what_is_written_down_is_sent_or_withdrawn() -> None:
    assert next_step([an_attempt()], OFFERS, TERMS) == SendIntended(an_attempt())
    assert next_step([an_attempt()], OFFERS, UNWANTED) == Withdraw(an_attempt())


@pytest.mark.parametrize("terms", [TERMS, UNWANTED])
def test_a_call_in_flight_is_waited_for_even_when_unwanted(terms: Terms) -> None:
    assert next_step([a_call()], OFFERS, terms) == AwaitAnswer(a_call())


@pytest.mark.parametrize("terms", [TERMS, UNWANTED])
def test_a_lost_answer_is_looked_up_even_when_unwanted(terms: Terms) -> None:
    attempt = ended(1, Answer.LOST)
    assert next_step([attempt], OFFERS, terms) == LookUp(attempt)


@pytest.mark.parametrize("terms", [TERMS, UNWANTED])
def test_what_is_placed_or_adopted_is_kept(terms: Terms) -> None:
    for attempt in (placed(a_call(), "fedcba", after(1)), found(ended(1, Answer.LOST), "fedcba")):
        assert next_step([attempt], OFFERS, terms) == Have(attempt)


@pytest.mark.parametrize(
    "history",
    [
        [],
        [lost(1)],
        [withdrawn(an_attempt())],
        *([ended(1, answer)] for answer in Answer if answer not in {Answer.PLACED, Answer.LOST}),
    ],
)
def test_nothing_more_is_tried_once_it_is_unwanted(history: list[Attempt]) -> None:
    assert next_step(history, OFFERS, UNWANTED) == NothingPlaced()


@pytest.mark.parametrize(
    ("history", "phase", "mode", "expected"),
    [
        ([], CreatingPhase.QUEUED, BillingMode.SPOT, True),
        ([an_attempt()], CreatingPhase.PLACING, BillingMode.ON_DEMAND, True),
        ([ended(1, Answer.NO_CAPACITY)], CreatingPhase.CHOOSING, BillingMode.SPOT, False),
        ([lost(1), an_attempt(2)], CreatingPhase.PLACING, BillingMode.SPOT, False),
        ([], CreatingPhase.WAITING_FOR_STOCK, BillingMode.SPOT, False),
        ([], CreatingPhase.QUEUED, BillingMode.MONTHLY, False),
    ],
)
def test_a_stop_calls_a_create_off_that_would_rent_much_later_or_for_a_term(
    history: list[Attempt], phase: CreatingPhase, mode: BillingMode, *, expected: bool
) -> None:
    creating = replace(an_instance(State.CREATING, replace(a_spec(), billing_mode=mode)), phase=phase)
    assert may_place(replace(creating, wanted=Wanted.STOPPED), history) is expected
    assert may_place(creating, history)
    assert not may_place(replace(creating, wanted=Wanted.TERMINATED), history)


@pytest.mark.parametrize("answer", [Answer.NO_CAPACITY, Answer.REFUSED_HERE])
def test_the_next_candidate_follows_what_cannot_be_had_here(answer: Answer) -> None:
    assert next_step([ended(1, answer)], OFFERS, TERMS) == Place(FAR, 2)
    both = [ended(1, answer), ended(2, answer, FAR)]
    assert next_step(both, OFFERS, TERMS) == GiveUp(None)


def test_with_patience_a_sold_out_offer_is_asked_again() -> None:
    history = [ended(1, Answer.NO_CAPACITY)]
    assert next_step(history, [NEAR], Terms(may_repeat_offers=True)) == Place(NEAR, 2)
    assert next_step([ended(1, Answer.REFUSED_HERE)], [NEAR], Terms(may_repeat_offers=True)) == GiveUp(None)


def test_what_no_other_offer_can_mend_ends_the_create() -> None:
    refused = ended(1, Answer.REFUSED)
    assert next_step([refused], OFFERS, TERMS) == GiveUp(refused)


@pytest.mark.parametrize("answer", [Answer.THROTTLED, Answer.UNSENT])
def test_what_was_not_carried_out_is_tried_again_later(answer: Answer) -> None:
    assert next_step([ended(1, answer)], OFFERS, TERMS) == Place(NEAR, 2, is_later=True)
    assert next_step([ended(1, answer)], [FAR], TERMS) == Place(FAR, 2)


def test_three_throttles_in_a_row_end_the_create_while_others_pass() -> None:
    history = [ended(number, Answer.THROTTLED) for number in (1, 2, 3)]
    assert next_step(history, OFFERS, TERMS) == GiveUp(history[-1])
    assert next_step(history, OFFERS, Terms(do_others_pass=False)) == Place(NEAR, 4, is_later=True)
    broken = [history[0], ended(2, Answer.NO_CAPACITY, FAR), ended(3, Answer.THROTTLED)]
    assert next_step(broken, OFFERS, TERMS) == Place(NEAR, 4, is_later=True)


def test_an_offer_whose_answers_get_lost_is_tried_three_times() -> None:
    assert next_step([lost(1)], OFFERS, TERMS) == Place(NEAR, 2)
    assert next_step([lost(1), lost(2), lost(3)], OFFERS, TERMS) == Place(FAR, 4)


def test_a_lost_monthly_create_is_never_placed_again() -> None:
    terms = Terms(billing_mode=BillingMode.MONTHLY)
    assert next_step([lost(1)], OFFERS, terms) == GiveUp(lost(1))
    assert next_step([ended(1, Answer.NO_CAPACITY)], OFFERS, terms) == Place(FAR, 2)


def test_a_withdrawn_intent_is_no_lost_answer() -> None:
    history = [withdrawn(an_attempt(1, NEAR))]
    assert next_step(history, OFFERS, Terms(billing_mode=BillingMode.MONTHLY)) == Place(NEAR, 2)


class Cloud:
    """A cloud that answers as drawn, and may have made an instance although its answer was lost."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.history: list[Attempt] = []
        self.upstreams: list[int] = []

    def swap(self, attempt: Attempt) -> None:
        self.history[attempt.number - 1] = attempt

    def answer(self, attempt: Attempt) -> None:
        answer = self.data.draw(st.sampled_from(Answer))
        if answer is Answer.PLACED:
            self.upstreams.append(attempt.number)
            self.swap(placed(attempt, str(attempt.number), after(1)))
            return
        if answer is Answer.LOST and self.data.draw(st.booleans()):
            self.upstreams.append(attempt.number)
        is_taken = answer is Answer.LOST and self.data.draw(st.booleans())
        lost_call = taken_over(attempt, "another", after(1))
        self.swap(lost_call if is_taken else answered(attempt, answer, after(1)))

    def look_up(self, attempt: Attempt) -> None:
        is_there = attempt.number in self.upstreams
        self.swap(found(attempt, str(attempt.number)) if is_there else settled_absent(attempt))

    def carry_out(self, step: Step, terms: Terms) -> None:
        match step:
            case Place(offer, number, _):
                assert all(attempt.state not in OPEN_STATES for attempt in self.history)
                assert self.upstreams == []
                assert terms.is_wanted
                self.history.append(an_attempt(number, offer))
            case SendIntended(attempt):
                self.swap(called(attempt, "worker-1", after(10)))
            case AwaitAnswer(attempt):
                self.answer(attempt)
            case LookUp(attempt):
                self.look_up(attempt)
            case Withdraw(attempt):
                self.swap(withdrawn(attempt))
            case Have() | GiveUp() | NothingPlaced():
                pass


@given(st.data())
def test_never_two_in_flight_and_never_another_while_one_is_not_settled(data: st.DataObject) -> None:
    cloud = Cloud(data)
    terms = TERMS
    for _ in range(40):
        if data.draw(st.integers(0, 15)) == 0:
            terms = UNWANTED
        cloud.carry_out(next_step(cloud.history, OFFERS, terms), terms)
        flying = [attempt for attempt in cloud.history if attempt.state is AttemptState.CALLING]
        assert len(flying) <= 1
        assert len(cloud.upstreams) <= 1
    is_known = any(attempt.upstream_id is not None for attempt in cloud.history)
    is_over = not any(attempt.state in OPEN_STATES for attempt in cloud.history)
    assert not is_over or is_known is bool(cloud.upstreams)


def test_a_recreation_counts_its_attempts_on() -> None:
    assert next_step([], OFFERS, Terms(attempts_before=4)) == Place(NEAR, 5)
