"""Who asks, and which instance they mean.

An *asker* is the holder of a key, as far as use cases care: a name for the log, and the project that
bounds what they see. What lies outside it does not exist for them.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from ostler.domain.errors import Missing, NameAmbiguous, Thing
from ostler.store.instances import InstanceRow, find_instance, living_ids_by_name
from ostler.usecases.audit import note_subject


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks. `project` None: everything is theirs to see."""

    name: str
    project: str | None = None

    def may_see(self, project: str | None) -> bool:
        """Tell whether what belongs to a project exists for them."""
        return self.project is None or self.project == project


@dataclass(frozen=True, slots=True)
class ById:
    """The instance with this id."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class ByName:
    """The one instance of this name that is not terminated."""

    name: str


Target = ById | ByName


def resolved(connection: Connection, target: Target, asker: Asker) -> str:
    """Return the id of the instance that is meant; raise Missing or NameAmbiguous."""
    match target:
        case ById(instance_id):
            return visible(connection, instance_id, asker).instance.id
        case ByName(name):
            found = living_ids_by_name(connection, name, asker.project)
            if len(found) > 1:
                raise NameAmbiguous(name, found)
            if not found:
                raise Missing(Thing.INSTANCE, name)
            return found[0]


def visible(connection: Connection, instance_id: str, asker: Asker) -> InstanceRow:
    """Return a row that exists for the asker; raise Missing."""
    row = find_instance(connection, instance_id)
    if row is None or not asker.may_see(row.instance.spec.project):
        raise Missing(Thing.INSTANCE, instance_id)
    note_subject("instance", instance_id, row.instance.spec.project)
    return row
