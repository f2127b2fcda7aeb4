"""Pages of lists while instances come and go: nothing that stayed is skipped, and nothing shown twice."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.upstream import UpstreamState
from ostler.store.inline import InlineStorage
from ostler.store.instance_lists import InstanceFilter, PageWish
from ostler.store.instances import InstanceRow, find_instance, insert_instance, update_instance
from ostler.store.sightings import Sighting, drop_sightings, put_sightings
from ostler.store.signals import begin_aftermath
from ostler.usecases.listing import ListSource, ListWish, listed
from tests.support.builders import NOW, an_instance
from tests.support.cloud import LoopClock

_LIVING = [state for state in State if state is not State.TERMINATED]
Move = tuple[str, int]
_MOVES = st.lists(
    st.tuples(st.sampled_from(["create", "end", "appear", "vanish", "page"]), st.integers(0, 30)),
    max_size=40,
)


class Account:
    """Rows and sightings that come and go; `there` is what was never away."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ids: list[str] = []
        self.upstreams: list[str] = []
        self.there: set[str] = set()

    def create(self, _: int) -> None:
        """Have one more instance, with the highest id so far."""
        instance_id = f"i{len(self.ids):04}"
        instance = replace(an_instance(State.RUNNING), id=instance_id, upstream_id=f"of-{instance_id}")
        insert_instance(self.connection, InstanceRow(instance), None)
        self.ids.append(instance_id)

    def end(self, which: int) -> None:
        """Let one be terminated: it is no more among the living."""
        if self.ids:
            row = find_instance(self.connection, self.ids[which % len(self.ids)])
            assert row is not None
            ended = replace(row, instance=replace(row.instance, state=State.TERMINATED, phase=None))
            update_instance(self.connection, row, ended)
            self.there.discard(row.instance.id)

    def appear(self, which: int) -> None:
        """Let the cloud show an upstream that no row has."""
        seen = Sighting(
            upstream_id=f"{which:02}-{len(self.upstreams)}",
            name="other",
            kinship=Kinship.STRANGER,
            mark=None,
            state=UpstreamState.RUNNING,
            word="running",
            region="R",
            product_name="P",
            gpus=1,
            price_per_hour=None,
            created_at=None,
            first_seen_at=NOW,
            last_seen_at=NOW,
        )
        put_sightings(self.connection, [seen])
        self.upstreams.append(seen.upstream_id)

    def vanish(self, which: int) -> None:
        """Let the cloud show one of these no more."""
        if self.upstreams:
            gone = self.upstreams[which % len(self.upstreams)]
            drop_sightings(self.connection, [gone])
            self.there.discard(gone)


@given(before=_MOVES, meanwhile=_MOVES, limit=st.integers(1, 5))
def test_pages_by_cursor_skip_and_double_nothing_that_was_there(
    before: list[Move], meanwhile: list[Move], limit: int
) -> None:
    with contextlib.closing(InlineStorage(LoopClock())) as storage:
        connection = storage.link.connection
        begin_aftermath(connection)
        account = Account(connection)
        for word, which in before:
            if word != "page":
                getattr(account, word)(which)
        account.there = set(_walk(connection, 500))
        walked: list[str] = []
        cursor: str | None = None
        for word, which in [*meanwhile, *([("page", 0)] * 100)]:
            if word != "page":
                getattr(account, word)(which)
                continue
            page = listed(connection, _wish(limit, cursor))
            walked += [each.id for each in page.instances] + [each.upstream_id for each in page.strangers]
            cursor = page.next_cursor
            if cursor is None:
                break
            assert len(page.instances) + len(page.strangers) == limit
    assert len(walked) == len(set(walked))
    assert account.there <= set(walked)


@pytest.mark.parametrize(("rows", "strangers"), [(4, 0), (0, 4), (2, 2), (3, 1), (1, 3)])
def test_a_last_page_that_is_full_is_known_to_be_the_last(rows: int, strangers: int) -> None:
    with contextlib.closing(InlineStorage(LoopClock())) as storage:
        connection = storage.link.connection
        begin_aftermath(connection)
        account = Account(connection)
        for number in range(rows):
            account.create(number)
        for number in range(strangers):
            account.appear(number)
        first = listed(connection, _wish(2))
        assert first.next_cursor is not None
        assert listed(connection, _wish(2, first.next_cursor)).next_cursor is None
        assert listed(connection, _wish(4)).next_cursor is None
        assert listed(connection, _wish(3)).next_cursor is not None


def _wish(limit: int, cursor: str | None = None) -> ListWish:
    return ListWish(InstanceFilter(states=_LIVING), PageWish(limit, after_id=cursor), ListSource.ALL)


def _walk(connection: Connection, limit: int) -> list[str]:
    page = listed(connection, _wish(limit))
    return [each.id for each in page.instances] + [each.upstream_id for each in page.strangers]
