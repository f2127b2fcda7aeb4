"""A *tag* is a short text that differs when an answer would: it saves rendering what the asker has already.

Made of what an answer is a function of, never of the answer itself. Equal parts make equal tags in every
process of the same version.
"""

from hashlib import blake2b

from ostler import __version__

_BYTES = 12


def tag_of(*parts: object) -> str:
    """Return the tag of values whose `repr` tells them apart."""
    return blake2b(repr((__version__, parts)).encode(), digest_size=_BYTES).hexdigest()
