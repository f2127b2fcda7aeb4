"""Who makes a request, as the doors have found out. Every layer behind them reads it from `state.caller`.

The key of the settings and a caller without any key (authentication off) have ids that no made key can have.
"""

from dataclasses import dataclass
from datetime import datetime

from ostler.domain.keys import Grant, Holder, project_for
from ostler.domain.roles import Role
from ostler.usecases.asking import Asker


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a key. `project` None: everything is theirs to see."""

    key_id: str
    name: str
    role: Role
    project: str | None = None
    expires_at: datetime | None = None

    @property
    def asker(self) -> Asker:
        """The same, as far as use cases care."""
        return Asker(self.name, self.project)

    @property
    def holder(self) -> Holder:
        """The same, as far as keys are made by it."""
        return Holder(self.key_id, self.name, Grant(self.role, self.project, self.expires_at))

    def meant(self, project: str | None) -> str | None:
        """Return the project that a request is about; raise OutsideProject where it is not theirs."""
        return project_for(project, self.project)


def caller_of(holder: Holder) -> Caller:
    """Return the caller who holds a key."""
    grant = holder.grant
    return Caller(holder.key_id, holder.name, grant.role, grant.project, grant.expires_at)


ADMIN = Caller("admin", "admin", Role.ADMIN)
ANONYMOUS = Caller("anonymous", "anonymous", Role.ADMIN)
