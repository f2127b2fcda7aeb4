"""How busy the simulated instances look.

The rules are tested on series alone, the wire form through the route.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.simulator.account.kinds import set_gpu_use
from ostler.simulator.account.metrics import GpuUse, Subject, measured, window
from tests.support.simulated_account import BASIC, V1, Answer, Cloud, a_running_instance

NOW = 1_785_780_960
ALWAYS = ((0, NOW),)


def busy(*steps: tuple[int, float | None]) -> Subject:
    return Subject("a" * 16, ("0", "1"), ALWAYS, GpuUse("a" * 16, steps))


def ask(cloud: Cloud, instance_id: str, **query: int) -> Answer:
    words = {name: str(value) for name, value in query.items()}
    return cloud.get(f"{BASIC}/metrics/gpu/instance", {"instanceId": instance_id, **words})


def values(answer: Answer, key: str = "gpuUtilization") -> list[float]:
    utilisation = answer[key]
    assert isinstance(utilisation, dict)
    return [point["value"] for point in utilisation["avg"]]


def test_without_times_the_last_minute_known_is_asked_for_in_steps_of_fifteen_seconds() -> None:
    asked = window(NOW, start=0, end=0, interval=0)

    assert (asked.start, asked.end, asked.interval) == (NOW - 120, NOW - 60, 15)


@pytest.mark.parametrize(
    ("given_times", "seen"),
    [
        ({"start": NOW - 600, "end": NOW - 300, "interval": 30}, (NOW - 600, NOW - 300, 30)),
        ({"start": NOW - 59, "end": NOW, "interval": 30}, (NOW - 60, NOW, 30)),
        ({"start": NOW - 600, "end": NOW + 1, "interval": 30}, (NOW - 600, NOW, 30)),
        ({"start": NOW - 600, "end": NOW, "interval": 15}, (NOW - 600, NOW, 15)),
        ({"start": NOW - 600, "end": NOW, "interval": 7}, (NOW - 600, NOW, 15)),
    ],
)
def test_times_that_make_no_sense_become_the_defaults(
    given_times: dict[str, int], seen: tuple[int, int, int]
) -> None:
    asked = window(NOW, **given_times)

    assert (asked.start, asked.end, asked.interval) == seen


def test_both_ends_of_a_window_have_a_value() -> None:
    asked = window(NOW, start=NOW - 600, end=NOW - 300, interval=60)

    assert (asked.instants[0], asked.instants[-1]) == (NOW - 600, NOW - 300)


def test_a_window_of_years_does_not_make_millions_of_points() -> None:
    assert len(window(NOW, start=1, end=NOW, interval=15).instants) < 12_000


def test_the_newest_minute_is_not_there_yet() -> None:
    load = measured(busy(), window(NOW, start=NOW - 600, end=NOW, interval=0), NOW)

    assert max(point.at for point in load.cpu) == NOW - 60
    assert len(load.cpu) == 37


def test_only_the_times_at_which_it_ran_have_values_both_ends_included() -> None:
    subject = Subject("a" * 16, ("0",), ((NOW - 300, NOW - 150),), GpuUse("a" * 16, ()))

    load = measured(subject, window(NOW, start=NOW - 600, end=NOW, interval=0), NOW)

    assert [point.at for point in load.cpu] == list(range(NOW - 300, NOW - 149, 15))


@given(name=st.text(min_size=1))
def test_a_disk_is_neither_empty_nor_full_and_stays_as_it_is(name: str) -> None:
    subject = Subject(name, ("0",), ALWAYS, GpuUse(name, ()))

    load = measured(subject, window(NOW, start=NOW - 600, end=NOW, interval=0), NOW)

    (percent,) = {point.percent for point in load.root_disk}
    assert 10 <= percent <= 60


def test_two_windows_agree_where_they_overlap() -> None:
    first = measured(busy(), window(NOW, start=NOW - 600, end=NOW - 200, interval=0), NOW)
    second = measured(busy(), window(NOW, start=NOW - 400, end=NOW, interval=0), NOW + 500)

    both = {point.at for point in first.gpu["0"]} & {point.at for point in second.gpu["0"]}
    assert len(both) > 10
    assert [point for point in first.gpu["0"] if point.at in both] == [
        point for point in second.gpu["0"] if point.at in both
    ]


@given(percent=st.one_of(st.none(), st.floats(0, 100)))
def test_every_value_is_a_percentage(percent: float | None) -> None:
    load = measured(busy((0, percent)), window(NOW, start=NOW - 1200, end=NOW, interval=60), NOW)

    for series in (load.cpu, load.memory, load.root_disk, *load.gpu.values(), *load.gpu_memory.values()):
        assert series
        assert all(0 <= point.percent <= 100 for point in series)


def test_what_is_set_by_hand_holds_from_then_on() -> None:
    subject = busy((NOW - 300, 0.0), (NOW - 150, None))

    load = measured(subject, window(NOW, start=NOW - 600, end=NOW, interval=0), NOW)

    idle = [point.at for point in load.gpu["1"] if point.percent == 0]
    assert (idle[0], idle[-1]) == (NOW - 300, NOW - 165)
    assert [point.at for point in load.gpu_memory["1"] if point.percent == 0] == idle


def test_an_instance_that_works_is_seen_at_work() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)

    answer = ask(cloud, instance.id, startTime=int(cloud.world.now) - 300)

    assert len(values(answer)) > 10
    assert min(values(answer)) > 20
    assert set(answer.body) == {  # type: ignore[call-overload]  # an object, as the next line shows
        "cpuUtilization",
        "memUtilization",
        "rootDiskUtilization",
        "gpuUtilization",
        "gpuMemUtilization",
    }


def test_a_plain_question_is_answered_with_values() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)
    cloud.pass_time(600)

    assert len(values(ask(cloud, instance.id))) >= 4


def test_an_idle_instance_is_seen_idle_but_keeps_its_memory_and_disk() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)
    set_gpu_use(cloud.world, instance.id, 0.0)
    cloud.pass_time(600)

    answer = ask(cloud, instance.id, startTime=int(cloud.world.now) - 500)

    assert set(values(answer)) == set(values(answer, "gpuMemUtilization")) == {0.0}
    assert all(point["value"] != 0 for point in answer.rows("memUtilization"))


def test_what_was_set_by_hand_can_be_taken_back() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)
    set_gpu_use(cloud.world, instance.id, 0.0)
    cloud.pass_time(600)
    set_gpu_use(cloud.world, instance.id, None)
    cloud.pass_time(600)

    assert min(values(ask(cloud, instance.id, startTime=int(cloud.world.now) - 500))) > 20


def test_timestamps_are_strings_and_every_gpu_is_shown() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)

    answer = ask(cloud, instance.id, startTime=int(cloud.world.now) - 200)

    assert all(isinstance(point["timestamp"], str) for point in answer.rows("cpuUtilization"))
    utilisation = answer["gpuUtilization"]
    assert isinstance(utilisation, dict)
    assert [gpu["gpuId"] for gpu in utilisation["gpuIds"]] == ["0"]


def test_a_stopped_instance_has_its_past_but_no_present() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)
    ran_until = int(cloud.world.now)
    cloud.post(f"{V1}/gpu/instance/stop", {"instanceId": instance.id})
    cloud.pass_time(3600)

    assert values(ask(cloud, instance.id)) == []
    assert values(ask(cloud, instance.id, startTime=ran_until - 200, endTime=ran_until)) != []


def test_words_instead_of_numbers_are_forgiven() -> None:
    cloud = Cloud()
    instance = a_running_instance(cloud)

    query = {"instanceId": instance.id, "interval": "soon", "startTime": "-5"}

    assert cloud.get(f"{BASIC}/metrics/gpu/instance", query).status == 200


def test_an_unknown_instance_is_a_404_and_none_at_all_a_400() -> None:
    assert ask(Cloud(), "f" * 16).status == 404
    assert Cloud().get(f"{BASIC}/metrics/gpu/instance").status == 400
