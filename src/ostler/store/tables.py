"""Every table of Ostler, gathered for the migrations and the tests: a new table's file is named here.

Nothing else belongs in this module.
"""

from ostler.store.adopted_installs import adopted_installs
from ostler.store.api_keys import api_keys
from ostler.store.attempts import attempts
from ostler.store.audit_log import audit_log
from ostler.store.catalogue_snapshots import catalogue_snapshots
from ostler.store.events import events
from ostler.store.health_reports import health_reports
from ostler.store.idempotency import idempotency
from ostler.store.installation import installation
from ostler.store.instances import instances
from ostler.store.jobs import jobs
from ostler.store.labels import labels
from ostler.store.leases import leases
from ostler.store.ledger import ledger
from ostler.store.looks import looks
from ostler.store.operations import operations
from ostler.store.product_starts import product_starts
from ostler.store.revisions import revisions
from ostler.store.sessions import sessions
from ostler.store.sightings import sightings
from ostler.store.watch_state import watch_state
from ostler.store.webhook_deliveries import webhook_deliveries
from ostler.store.webhook_endpoints import webhook_endpoints

TABLES = [
    jobs,
    leases,
    installation,
    adopted_installs,
    instances,
    labels,
    looks,
    health_reports,
    operations,
    attempts,
    events,
    idempotency,
    sightings,
    catalogue_snapshots,
    ledger,
    product_starts,
    watch_state,
    webhook_endpoints,
    webhook_deliveries,
    revisions,
    api_keys,
    sessions,
    audit_log,
]
