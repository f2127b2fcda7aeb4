"""How an account is called in answers: v1 shows a number, v2 a UUID.

Both follow from the account's name alone, so that they are the same after any restart.
"""

from hashlib import blake2b
from uuid import NAMESPACE_URL, uuid5


def user_number(account: str) -> str:
    """Return the sixteen digits that v1 shows as `user`."""
    if account.isdecimal():
        return account
    digest = blake2b(account.encode(), digest_size=8).digest()
    return f"{int.from_bytes(digest) % 10**16:016d}"


def owner_uuid(account: str) -> str:
    """Return the UUID that v2 shows as `owner_id`."""
    return str(uuid5(NAMESPACE_URL, f"novita:{account}"))
