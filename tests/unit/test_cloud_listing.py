"""Paged listings: read to the end, and honest about whether that was everything."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.cloud.listing import Pager
from ostler.cloud.upstream import Listing, Page, Upstream
from ostler.domain.upstream import UpstreamState

SEEN_AT = datetime(2026, 1, 1, tzinfo=UTC)
SIZE = 10


def an_upstream(upstream_id: str) -> Upstream:
    return Upstream(upstream_id, "name", "running", UpstreamState.RUNNING, SEEN_AT)


def ids(count: int, start: int = 0) -> list[str]:
    return [f"i-{number}" for number in range(start, start + count)]


@dataclass
class Account:
    """A cloud's list as it is paged: from 0 or from 1, with or without a count, changing between pages."""

    rows: list[str]
    first: int = 1  # 1: page 0 is page 1 again, as in the simulator
    counts: bool = True
    ignores_number: bool = False
    changes: Sequence[Callable[[list[str]], None]] = ()  # one after each page
    asked: list[int] = field(default_factory=list)

    async def fetch(self, number: int) -> Page:
        self.asked.append(number)
        index = 0 if self.ignores_number else max(0, number - self.first)
        shown = tuple(an_upstream(row) for row in self.rows[index * SIZE : (index + 1) * SIZE])
        page = Page(shown, SEEN_AT, len(self.rows) if self.counts else None)
        if len(self.asked) <= len(self.changes):
            self.changes[len(self.asked) - 1](self.rows)
        return page

    def collect(self, pager: Pager | None = None) -> Listing:
        return asyncio.run((pager or Pager(SIZE)).collect(self.fetch))


@given(count=st.integers(0, 75), first=st.sampled_from([0, 1]), counts=st.booleans())
def test_everything_is_found_however_pages_are_counted(count: int, first: int, counts: bool) -> None:  # noqa: FBT001 -- a property's parameter
    account = Account(ids(count), first, counts)
    listing = account.collect()
    assert [upstream.id for upstream in listing.upstreams] == ids(count)
    assert listing.is_complete
    assert listing.pages == len(account.asked)


@pytest.mark.parametrize("count", [0, 1, 9])
def test_a_small_account_costs_one_call(count: int) -> None:
    account = Account(ids(count))
    account.collect()
    assert account.asked == [0]


def test_once_the_first_page_is_known_a_pass_costs_one_call_per_page() -> None:
    pager = Pager(SIZE)
    account = Account(ids(45))
    account.collect(pager)
    assert account.asked == [0, 1, 2, 3, 4, 5]
    account.asked.clear()
    assert account.collect(pager).is_complete
    assert account.asked == [1, 2, 3, 4, 5]


def test_a_cloud_that_changes_its_first_page_is_found_out() -> None:
    pager = Pager(SIZE)
    Account(ids(45), first=1).collect(pager)
    changed = Account(ids(45), first=0)
    assert not changed.collect(pager).is_complete
    assert changed.collect(pager).is_complete


def test_a_cloud_that_ignores_the_page_number_does_not_trap_the_reader() -> None:
    account = Account(ids(45), ignores_number=True)
    listing = account.collect()
    assert not listing.is_complete
    assert len(account.asked) <= 3


def test_a_cloud_that_counts_only_the_page_is_not_believed() -> None:
    async def fetch(number: int) -> Page:
        shown = tuple(an_upstream(row) for row in ids(25)[number * SIZE : (number + 1) * SIZE])
        return Page(shown, SEEN_AT, len(shown))

    listing = asyncio.run(Pager(SIZE).collect(fetch))
    assert len(listing.upstreams) == 25


def test_a_vanished_row_makes_the_listing_incomplete_because_another_may_have_slipped_through() -> None:
    account = Account(ids(25), changes=[lambda _: None, lambda rows: rows.remove("i-3")])
    listing = account.collect()
    assert "i-10" not in {upstream.id for upstream in listing.upstreams}
    assert not listing.is_complete


def test_newcomers_do_not_make_up_for_a_row_that_slipped_through() -> None:
    changes = [lambda rows: rows.remove("i-3"), lambda rows: rows.extend(["new-1", "new-2"])]
    account = Account(ids(30), first=0, changes=changes)
    listing = account.collect()
    assert "i-10" not in {upstream.id for upstream in listing.upstreams}
    assert len(listing.upstreams) == 31
    assert not listing.is_complete


def test_a_new_row_in_front_does_not_make_it_incomplete() -> None:
    account = Account(ids(25), changes=[lambda rows: rows.insert(0, "new")])
    listing = account.collect()
    assert listing.is_complete
    assert {upstream.id for upstream in listing.upstreams} >= set(ids(25))


def test_a_half_empty_list_is_not_complete() -> None:
    async def fetch(number: int) -> Page:
        shown = tuple(an_upstream(row) for row in ids(12)) if number == 0 else ()
        return Page(shown, SEEN_AT, 25)

    assert not asyncio.run(Pager(SIZE).collect(fetch)).is_complete


def test_a_row_that_cannot_be_read_is_present_all_the_same() -> None:
    async def fetch(_: int) -> Page:
        return Page((an_upstream("i-1"),), SEEN_AT, 2, {"i-2": "gpuNum is 'many'"})

    listing = asyncio.run(Pager(SIZE).collect(fetch))
    assert listing.is_complete
    assert listing.unreadable == {"i-2": "gpuNum is 'many'"}


def test_a_failing_page_fails_the_listing() -> None:
    async def fetch(number: int) -> Page:
        if number:
            raise ConnectionError
        return Page(tuple(an_upstream(row) for row in ids(10)), SEEN_AT, 25)

    with pytest.raises(ConnectionError):
        asyncio.run(Pager(SIZE).collect(fetch))
