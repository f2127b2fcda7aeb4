"""The use cases about instances, as the routes need them.

Put together once by assembly, and handed to routes within an `Exchange`.
"""

from dataclasses import dataclass

from ostler.api.routes.drawn_instances import DrawnList
from ostler.cloud.caches import NamedCache
from ostler.cloud.reach import Reach
from ostler.domain.requests import Defaults
from ostler.notify.endpoints import Webhooks
from ostler.notify.feed import Feed
from ostler.store.sealing import Sealer
from ostler.usecases.auto_stop import AutoStop
from ostler.usecases.change import ChangeInstance
from ostler.usecases.costs import Costs
from ostler.usecases.create import Create
from ostler.usecases.gpu_use import WatchGpus
from ostler.usecases.job_desk import Jobs
from ostler.usecases.orphans import Orphans
from ostler.usecases.reading import Reading
from ostler.usecases.row_views import RowViews
from ostler.usecases.stop_all import StopAll
from ostler.usecases.verbs import Verbs
from ostler.usecases.waiting import Waiting
from ostler.watch.account import AccountDesk
from ostler.watch.standing import WatchStanding


@dataclass(frozen=True, slots=True)
class InstanceBacking:
    """Everything that the routes of instances are served by."""

    create: Create
    verbs: Verbs
    change: ChangeInstance
    reading: Reading
    row_views: RowViews
    waiting: Waiting
    news: NamedCache[bytes]  # answers that thousands who waited get at the same moment, each drawn once
    lists: NamedCache[DrawnList]  # pages by their tags, which differ when a page does
    sealer: Sealer
    defaults: Defaults
    reach: Reach  # how far webhooks may go
    webhooks: Webhooks
    feed: Feed
    jobs: Jobs
    costs: Costs
    gpus: WatchGpus
    orphans: Orphans
    stop_all: StopAll
    auto_stop: AutoStop
    watcher: WatchStanding
    account: AccountDesk
