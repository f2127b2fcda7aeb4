"""What the simulator's state file keeps, and what comes back from it after a restart."""

import sqlite3
from pathlib import Path

import pytest

from ostler.simulator.clock import WorldClock, wall_time
from ostler.simulator.cloud import Cloud
from ostler.simulator.fate import Fate, Outcome
from ostler.simulator.genesis import new_world, saved_world
from ostler.simulator.instance import Mode
from ostler.simulator.keys import KEYS, Key, Verdict
from ostler.simulator.running import SimulatorConfig, open_cloud
from ostler.simulator.state_file import SavedTime, StateFile, StateFileUnusable
from ostler.simulator.status import Status
from ostler.simulator.verbs import migrate, stop
from ostler.simulator.world import Change
from tests.support.simulator import EPOCH, a_simulated_instance


def test_a_world_comes_back_as_it_was() -> None:
    world = new_world(EPOCH)
    a_simulated_instance(world, Status.EXITED)
    spotty = a_simulated_instance(world, Status.RUNNING, Mode.SPOT)
    moving = a_simulated_instance(world)
    moving.fate = Fate(Status.MIGRATING, Outcome.STUCK)
    migrate(world, moving)
    world.put(KEYS, "sk", Key("sk", Verdict.FORBIDDEN))
    rows = world.take_changes()

    again = saved_world(world.now, rows)

    assert again.instances == world.instances
    assert again.ledger == world.ledger
    assert again.shelves == world.shelves
    assert again.wallets == world.wallets
    assert again.rows(KEYS) == world.rows(KEYS)
    assert list(again.fleet("default")) == list(world.fleet("default"))
    assert spotty.id in again.instances
    assert again.next_due() == world.next_due()


def test_what_was_dropped_does_not_come_back(tmp_path: Path) -> None:
    with StateFile(tmp_path / "cloud.db") as file:
        file.save([Change("a", "1", b"{}"), Change("a", "2", b"{}")], SavedTime(EPOCH, 1.0, 1.0))
        file.save([Change("a", "1", None)], SavedTime(EPOCH + 1, 2.0, 0.5))

        assert list(file.rows()) == [Change("a", "2", b"{}")]
        assert file.time() == SavedTime(EPOCH + 1, 2.0, 0.5)
        file.clear()
        assert file.time() is None


def test_things_come_back_in_the_order_in_which_they_were_first_saved(tmp_path: Path) -> None:
    with StateFile(tmp_path / "cloud.db") as file:
        file.save([Change("a", key, b"{}") for key in "cab"], SavedTime(EPOCH, 1.0, 1.0))
        file.save([Change("a", "c", b"[]")], SavedTime(EPOCH, 1.0, 1.0))

        assert [row.id for row in file.rows()] == ["c", "a", "b"]


def test_a_file_belongs_to_one_simulator_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    with StateFile(path), pytest.raises(StateFileUnusable, match="another process"):
        StateFile(path)


def test_a_file_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateFileUnusable, match="its folder is not there"):
        StateFile(tmp_path / "slip" / "cloud.db")

    assert list(tmp_path.iterdir()) == []


def tampered(path: Path, *statements: str) -> None:
    """Write a state file with one instance, and spoil it."""
    with StateFile(path) as file:
        cloud = open_cloud(SimulatorConfig(speed=0), file)
        a_simulated_instance(cloud.world)
        cloud.save()
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (
            ["UPDATE thing SET body = '{\"id\": 1' WHERE kind = 'instance'"],
            "what it keeps of Instance is damaged",
        ),
        (["UPDATE thing SET body = '{}' WHERE kind = 'wallet'"], "what it keeps of Wallet is damaged"),
        (["DROP TABLE thing", "CREATE TABLE thing (other)"], "no such column: kind"),
    ],
)
def test_a_damaged_file_is_refused_with_a_way_out(tmp_path: Path, statements: list[str], why: str) -> None:
    tampered(tmp_path / "cloud.db", *statements)

    with (
        pytest.raises(StateFileUnusable, match=why + ".*move it away"),
        StateFile(tmp_path / "cloud.db") as file,
    ):
        open_cloud(SimulatorConfig(speed=0), file)


def test_pages_that_are_damaged_are_noticed_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    tampered(path)
    content = path.read_bytes()
    path.write_bytes(content[:4_096] + bytes(byte ^ 0xFF for byte in content[4_096:]))

    with pytest.raises(StateFileUnusable, match="malformed"), StateFile(path) as file:
        open_cloud(SimulatorConfig(speed=0), file)


def test_the_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customer (name TEXT)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(StateFileUnusable, match="something else"):
        StateFile(path)

    assert path.read_bytes() == before


def test_time_went_on_while_nobody_ran_it(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    with StateFile(path) as file:
        cloud = open_cloud(SimulatorConfig(speed=0), file)
        instance = a_simulated_instance(cloud.world)
        stop(cloud.world, instance)
        cloud.save()
        saved_at = cloud.world.now
        file.save([], SavedTime(saved_at, 0.0, 1.0))  # half a century ago
    with StateFile(path) as file:
        again = open_cloud(SimulatorConfig(), file)
        assert again.world.instances[instance.id].status is Status.TO_STOP

        again.catch_up()

    assert again.world.now > saved_at + 1_000_000_000
    assert again.world.instances[instance.id].status is Status.EXITED


def test_in_explicit_mode_no_time_passes_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    with StateFile(path) as file:
        cloud = open_cloud(SimulatorConfig(speed=0), file)
        cloud.save()
        now = cloud.world.now
        file.save([], SavedTime(now, 0.0, 0.0))
    with StateFile(path) as file:
        assert open_cloud(SimulatorConfig(speed=0), file).clock.time() == now


def test_time_that_was_turned_by_hand_and_its_speed_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    with StateFile(path) as file:
        cloud = open_cloud(SimulatorConfig(speed=0), file)
        cloud.save()
        cloud.clock.advance(1_000)
        cloud.catch_up()
        cloud.save()
        now = cloud.world.now
    with StateFile(path) as file:
        again = open_cloud(SimulatorConfig(), file)
        assert (again.clock.time(), again.clock.speed) == (now, 0)
        assert open_cloud(SimulatorConfig(speed=2), file).clock.speed == 2


def test_no_time_is_lost_between_the_work_and_the_save(tmp_path: Path) -> None:
    readings = iter([0.0, 10.0, 13.0, 13.0])  # the save comes three seconds after the world was brought up
    with StateFile(tmp_path / "cloud.db") as file:
        cloud = Cloud(new_world(EPOCH), WorldClock(lambda: next(readings), start=EPOCH, speed=100), file)
        cloud.catch_up()
        cloud.save()
        kept = file.time()

    assert kept is not None
    assert kept.world == EPOCH + 1_000
    assert kept.at(wall_time()) >= EPOCH + 1_300


def test_a_file_of_a_version_that_kept_no_speed_is_one_of_real_time(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    tampered(path, "ALTER TABLE instant DROP COLUMN speed")

    with StateFile(path) as file:
        assert open_cloud(SimulatorConfig(), file).clock.speed == 1


def test_ids_are_not_used_twice_after_a_restart(tmp_path: Path) -> None:
    seen: set[str] = set()
    for _ in range(3):
        with StateFile(tmp_path / "cloud.db") as file:
            cloud = open_cloud(SimulatorConfig(speed=0), file)
            fresh = {a_simulated_instance(cloud.world).id for _ in range(5)}
            cloud.save()
        assert not fresh & seen
        seen |= fresh


def test_without_a_file_nothing_piles_up() -> None:
    cloud = Cloud(new_world(EPOCH), WorldClock(lambda: 0.0, start=EPOCH))
    a_simulated_instance(cloud.world)

    cloud.save()

    assert cloud.world.take_changes() == []


def test_a_new_beginning_is_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "cloud.db"
    with StateFile(path) as file:
        cloud = open_cloud(SimulatorConfig(speed=0), file)
        a_simulated_instance(cloud.world)
        cloud.save()
        cloud.reset()
        cloud.save()
    with StateFile(path) as file:
        again = open_cloud(SimulatorConfig(speed=0), file)

        assert again.world.ledger == {}
        assert again.world.instances == {}
        assert again.world.shelves
