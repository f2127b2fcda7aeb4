"""How long things take in the pretend cloud, in seconds of its clock; a world can be given others.

Measured where the contract tells (10 to 25 s from create to running with a cached image, minutes otherwise),
else guessed.
"""

from dataclasses import dataclass

from ostler.simulator.status import Status

HOUR_S = 3600.0
DAY_S = 86_400.0
MONTH_S = 30 * DAY_S


@dataclass(frozen=True, slots=True)
class Durations:
    """How long a status lasts, and the market's and the disks' terms."""

    pending_s: float = 1.0
    to_create_s: float = 2.0
    creating_s: float = 4.0
    pulling_cached_s: float = 8.0
    pulling_s: float = 150.0
    to_start_s: float = 1.0
    starting_s: float = 8.0
    to_stop_s: float = 1.0
    stopping_s: float = 4.0
    to_restart_s: float = 1.0
    restarting_s: float = 9.0
    to_remove_s: float = 1.0
    removing_s: float = 4.0
    to_reset_s: float = 1.0
    resetting_s: float = 25.0
    migrating_s: float = 60.0
    freezing_s: float = 5.0
    spread: float = 0.25  # each is drawn from ± this share of itself
    spot_protection_s: float = HOUR_S  # after creation, no notice of a reclaim can fall due before it
    spot_life_s: float = 0.0  # mean time until somebody wants the node; 0: nobody ever does by himself
    spot_notice_s: float = HOUR_S  # from the notice to the reclaim
    spot_reclaiming_s: float = 10.0
    keep_data_days: int = 7
    save_image_s: float = 60.0

    def of(self, status: Status, *, image_is_cached: bool) -> float | None:
        """Return how long a status lasts; None where it stays until somebody acts."""
        if status is Status.PULLING:
            return self.pulling_cached_s if image_is_cached else self.pulling_s
        return {
            Status.PENDING: self.pending_s,
            Status.TO_CREATE: self.to_create_s,
            Status.CREATING: self.creating_s,
            Status.TO_START: self.to_start_s,
            Status.STARTING: self.starting_s,
            Status.TO_STOP: self.to_stop_s,
            Status.STOPPING: self.stopping_s,
            Status.TO_RESTART: self.to_restart_s,
            Status.RESTARTING: self.restarting_s,
            Status.TO_REMOVE: self.to_remove_s,
            Status.REMOVING: self.removing_s,
            Status.TO_RESET: self.to_reset_s,
            Status.RESETTING: self.resetting_s,
            Status.MIGRATING: self.migrating_s,
            Status.FREEZING: self.freezing_s,
        }.get(status)
