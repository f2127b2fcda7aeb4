"""Reading a paged list to its end, and knowing whether that was all of it.

Pages shift while they are read: an instance that vanishes meanwhile pulls another one over the edge of a page
that was read already. So a listing is complete only when as many were seen as the cloud counted at the
beginning and its count never fell. A page that shows nothing new ends the reading: unknown page parameters
are ignored by the cloud, which then answers with the first page for ever.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ostler.cloud.upstream import Listing, Page, Upstream


@dataclass(slots=True)
class Pager:
    """Reads lists page by page; remembers whether this cloud counts its pages from 0 or from 1."""

    page_size: int
    _first: int = 0

    async def collect(self, fetch: Callable[[int], Awaitable[Page]]) -> Listing:
        """Return everything that the pages show."""
        gathered = _Gathered(self.page_size)
        number = self._first
        while True:
            page = await fetch(number)
            is_news = gathered.add(page)
            if gathered.is_at_end(page):
                break
            if not is_news:
                if number != 1 or self._first != 0:
                    break
                self._first = 1  # page 1 was page 0 again: this cloud counts from 1
            number += 1
        listing = gathered.listing()
        if not listing.is_complete:
            self._first = 0
        return listing


@dataclass(slots=True)
class _Gathered:
    page_size: int
    upstreams: dict[str, Upstream] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    pages: list[Page] = field(default_factory=list)
    has_shrunk: bool = False

    def add(self, page: Page) -> bool:
        """Take a page in; tell whether it showed anything new."""
        before = self._count()
        if self.pages and _total(page) < _total(self.pages[-1]):
            self.has_shrunk = True
        self.pages.append(page)
        for upstream in page.upstreams:
            self.upstreams.setdefault(upstream.id, upstream)
        for upstream_id, why in page.unreadable.items():
            self.unreadable.setdefault(upstream_id, why)
        return self._count() > before

    def is_at_end(self, page: Page) -> bool:
        """Tell whether there is nothing more to read."""
        rows = len(page.upstreams) + len(page.unreadable)
        if rows == 0:
            return True
        if page.total is None or self._count() < page.total:
            return False
        # a full page whose count is its own length may come from a cloud that only counts the page
        return rows < self.page_size or page.total > self.page_size

    def listing(self) -> Listing:
        first, last = self.pages[0], self.pages[-1]
        if first.total is None:
            is_complete = not last.upstreams and not last.unreadable
        else:
            is_complete = not self.has_shrunk and self._count() >= first.total
        return Listing(
            tuple(self.upstreams.values()), first.began_at, is_complete, len(self.pages), self.unreadable
        )

    def _count(self) -> int:
        return len(self.upstreams) + len(self.unreadable)


def _total(page: Page) -> int:
    return page.total or 0
