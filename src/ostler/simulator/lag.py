"""*Lag*: lists go on showing for a while what was, after something has changed, come to be, or gone.

Whoever asks for the thing itself sees it as it is. Only the few things that changed lately are remembered
here, each with what it was before; nothing of this is in the state file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """A change that lists do not show before an instant."""

    shows_at: float
    former: object | None  # the thing before it; None: there was none


class Lag:
    """How late lists are, and what they have not noticed yet."""

    def __init__(self) -> None:
        self.create_s = 0.0  # how long they know nothing of a new thing
        self.effect_s = 0.0  # how long they go on showing a thing as it was
        self._unseen: dict[str, dict[str, list[Change]]] = {}  # by kind and id, in the order of happening

    @contextmanager
    def at_least(self, seconds: float) -> Iterator[None]:
        """Let lists notice what happens meanwhile only so much later."""
        usual = self.create_s, self.effect_s
        self.create_s, self.effect_s = max(seconds, usual[0]), max(seconds, usual[1])
        try:
            yield
        finally:
            self.create_s, self.effect_s = usual

    def note(self, kind: str, key: str, former: object | None, now: float) -> None:
        """Remember what a thing was before it changed now."""
        delay_s = self.create_s if former is None else self.effect_s
        if delay_s > 0:
            self._unseen.setdefault(kind, {}).setdefault(key, []).append(Change(now + delay_s, former))

    def formers(self, kind: str, now: float) -> dict[str, object | None]:
        """Return what lists show instead of the things that they have not caught up with; None: nothing."""
        unseen = self._unseen.get(kind, {})
        formers: dict[str, object | None] = {}
        for key, changes in list(unseen.items()):
            unseen[key] = [change for change in changes if change.shows_at > now]
            if unseen[key]:
                formers[key] = unseen[key][0].former
            else:
                del unseen[key]
        return formers
