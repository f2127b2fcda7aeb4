"""Roles: how much the holder of a key may do. Each role may all that the role before it may.

A *viewer* looks, an *operator* changes instances and sees their passwords, an *admin* also decides who
may come in, and what is done to the whole account. Which route wants which role is the API's table to say.
"""

from enum import StrEnum


class Role(StrEnum):
    """What a key may do, from least to most."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, wanted: "Role") -> bool:
        """Tell whether who has this role may do what another role is wanted for."""
        order = list(Role)
        return order.index(self) >= order.index(wanted)
