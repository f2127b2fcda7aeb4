"""What the collector of cycles looks at: never at what was made at the start, and less often at the rest.

What a process has imported and joined lives as long as it does: some 400 000 objects that every full
collection would go through. With a large fleet that was a third of the watcher's time.
"""

import gc

_YOUNG = 20_000  # objects made before the youngest are looked through; a page of the cloud's list makes 5 000
_OLDER = 20  # collections of one age before the next one


def spare_what_stays() -> None:
    """Collect once, and then leave alone what is there now. Called when everything is joined."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)
