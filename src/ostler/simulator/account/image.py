"""A *saved image*: what a job that saved an instance has left in the account's list of images.

The list follows from the jobs; only the deletions from it are kept.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from ostler.simulator.account.fields import Span
from ostler.simulator.job import Job, JobState, JobType

INSTANCE_ID_LENGTH: Span = (1, 255)
IMAGE_LENGTH: Span = (1, 4095)


@dataclass(frozen=True, slots=True)
class ForgottenImage:
    """A job whose saved image was deleted from the list; the job itself stays."""

    id: str
    account: str


@dataclass(frozen=True, slots=True)
class SavedImage:
    """All tags of one saved image, in the order of their saving, with the jobs that made them."""

    name: str
    tags: tuple[tuple[str, str], ...]  # tag, whole image
    job_ids: tuple[str, ...]

    @property
    def id(self) -> str:
        """An id that follows from the name."""
        return blake2b(self.name.encode(), digest_size=8).hexdigest()


def saved_images(jobs: Iterable[Job], forgotten: Container[str]) -> list[SavedImage]:
    """Return what the jobs that succeeded have saved and nobody has deleted since, by name."""
    made: dict[str, list[Job]] = {}
    for job in jobs:
        if job.type is JobType.SAVE_IMAGE and job.state is JobState.SUCCESS and job.id not in forgotten:
            made.setdefault(split_tag(job.image)[0], []).append(job)
    return [
        SavedImage(
            name=name,
            tags=tuple({split_tag(job.image)[1]: job.image for job in makers}.items()),
            job_ids=tuple(job.id for job in makers),
        )
        for name, makers in sorted(made.items())
    ]


def split_tag(image: str) -> tuple[str, str]:
    """Return an image's name and tag; a colon before the last slash belongs to a port."""
    head, slash, tail = image.rpartition("/")
    name, _, tag = tail.partition(":")
    return f"{head}{slash}{name}", tag or "latest"
