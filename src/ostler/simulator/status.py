"""The *status* of an instance, the verbs a caller has, and the one table of arrows between them.

Pure data: which status follows which, what holds a GPU, what is billed, and which verb is allowed where.
`lifecycle.py` moves instances along it; nothing else assigns a status.
"""

from enum import StrEnum


class Status(StrEnum):
    """The cloud's words, in the cloud's spelling."""

    PENDING = "pending"  # accepted, on a queue; not billed; undocumented, but the first one seen live
    TO_CREATE = "toCreate"  # a node was chosen; not billed
    CREATING = "creating"  # the container is being made; not billed
    PULLING = "pulling"  # the image is on its way; billing begins here
    RUNNING = "running"  # the container runs; billed until it is stopped
    TO_START = "toStart"  # a start was accepted and has its GPU again; not billed yet
    STARTING = "starting"  # the kept container boots; billed
    TO_STOP = "toStop"  # a stop was accepted; still billed
    STOPPING = "stopping"  # the container goes down; still billed
    EXITED = "exited"  # stopped or reclaimed; the GPU is given back, disks are still billed
    TO_RESTART = "toRestart"  # a restart was accepted; billed
    RESTARTING = "restarting"  # the container boots again on its node; billed
    TO_REMOVE = "toRemove"  # a delete was accepted; nothing is billed from here on
    REMOVING = "removing"  # disks are being wiped; the GPU is free again
    REMOVED = "removed"  # gone: GET answers 404; never in lists, unless the list lags
    TO_RESET = "toReset"  # an upgrade was accepted; holds its GPU; billed
    RESETTING = "resetting"  # the container is made anew from another image; billed
    MIGRATING = "migrating"  # moves to another node with the same id; billed
    FREEZING = "freezing"  # the account is in arrears; the GPU is given back, as in exited


class Verb(StrEnum):
    """What a caller can ask of an instance that exists."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    DELETE = "delete"
    MIGRATE = "migrate"
    EDIT = "edit"
    UPGRADE = "upgrade"
    RENEW = "renewInstance"
    TO_MONTHLY = "transToMonthlyInstance"
    SET_AUTO_MIGRATE = "setAutoMigrate"
    SET_AUTO_RENEW = "setAutoRenew"
    SAVE_IMAGE = "saveImage"


# What time alone does: each status that does not stay goes to exactly one other.
FOLLOWS: dict[Status, Status] = {
    Status.PENDING: Status.TO_CREATE,
    Status.TO_CREATE: Status.CREATING,
    Status.CREATING: Status.PULLING,
    Status.PULLING: Status.RUNNING,
    Status.TO_START: Status.STARTING,
    Status.STARTING: Status.RUNNING,
    Status.TO_STOP: Status.STOPPING,
    Status.STOPPING: Status.EXITED,
    Status.TO_RESTART: Status.RESTARTING,
    Status.RESTARTING: Status.RUNNING,
    Status.TO_REMOVE: Status.REMOVING,
    Status.REMOVING: Status.REMOVED,
    Status.TO_RESET: Status.RESETTING,
    Status.RESETTING: Status.RUNNING,
    Status.MIGRATING: Status.RUNNING,
    Status.FREEZING: Status.EXITED,
}


def passed_from(first: Status) -> tuple[Status, ...]:
    """Return the statuses that time alone leads through from one on, without the one where it stays."""
    passed = []
    while first in FOLLOWS:
        passed.append(first)
        first = FOLLOWS[first]
    return tuple(passed)


BEING_MADE = frozenset({Status.PENDING, Status.TO_CREATE, Status.CREATING, Status.PULLING})
_ALIVE = frozenset(Status) - {Status.REMOVED}
_SETTLED = frozenset({Status.RUNNING, Status.EXITED})

# Where a verb is allowed; elsewhere the cloud answers 400 `invalid state change`.
ALLOWED: dict[Verb, frozenset[Status]] = {
    Verb.START: frozenset({Status.EXITED}),
    Verb.STOP: frozenset({Status.RUNNING}),
    Verb.RESTART: frozenset({Status.RUNNING}),
    Verb.DELETE: _ALIVE - {Status.TO_REMOVE, Status.REMOVING},
    Verb.MIGRATE: _SETTLED,
    Verb.EDIT: _SETTLED,
    Verb.UPGRADE: _SETTLED,
    Verb.RENEW: _ALIVE - BEING_MADE - {Status.TO_REMOVE, Status.REMOVING},
    Verb.TO_MONTHLY: _SETTLED,
    Verb.SET_AUTO_MIGRATE: _ALIVE - {Status.TO_REMOVE, Status.REMOVING},
    Verb.SET_AUTO_RENEW: _ALIVE - {Status.TO_REMOVE, Status.REMOVING},
    Verb.SAVE_IMAGE: _SETTLED,
}

# Where a verb leads; the verbs that are not here change properties and leave the status alone.
LEADS_TO: dict[Verb, Status] = {
    Verb.START: Status.TO_START,
    Verb.STOP: Status.TO_STOP,
    Verb.RESTART: Status.TO_RESTART,
    Verb.DELETE: Status.TO_REMOVE,
    Verb.MIGRATE: Status.MIGRATING,
    Verb.UPGRADE: Status.TO_RESET,
}

# A job (saving an image, a migration) in progress blocks these.
BLOCKED_BY_JOBS = frozenset(
    {Verb.START, Verb.STOP, Verb.RESTART, Verb.MIGRATE, Verb.UPGRADE, Verb.EDIT, Verb.SAVE_IMAGE}
)

HOLDS_GPU = frozenset(
    {
        Status.PENDING, Status.TO_CREATE, Status.CREATING, Status.PULLING, Status.RUNNING,
        Status.TO_START, Status.STARTING, Status.TO_STOP, Status.STOPPING, Status.TO_RESTART,
        Status.RESTARTING, Status.TO_RESET, Status.RESETTING, Status.MIGRATING,
    }
)  # fmt: skip

# The GPU's price runs: from `pulling` to the end of the stop.
BILLED = HOLDS_GPU - {Status.PENDING, Status.TO_CREATE, Status.CREATING, Status.TO_START}

# Only the disks' price runs.
DISKS_BILLED = BILLED | {Status.EXITED, Status.FREEZING, Status.TO_START}

# Ports and SSH answer.
CONNECTED = frozenset({Status.RUNNING, Status.MIGRATING})
