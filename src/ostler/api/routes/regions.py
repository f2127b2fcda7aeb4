"""`/api/regions`: where the cloud sells.

Also how the other routes understand a region: by id, code or name, in any case.
"""

from collections.abc import Iterable

from fastapi import APIRouter, Depends

from ostler.api.backing import WithCatalogue, WithPatience
from ostler.api.model import Answer, Instant, asks_nothing
from ostler.api.problems import RequestRefused, WrongField, validation_problem
from ostler.cloud.catalogue import Catalogue
from ostler.domain.catalogue import Region

router = APIRouter(prefix="/api/regions", tags=["catalogue"])


class RegionAnswer(Answer):
    """One of the cloud's clusters."""

    id: str
    code: str
    name: str
    gpu_types: list[str]
    network_storage: bool
    private_networks: bool


class RegionsAnswer(Answer):
    """All regions."""

    regions: list[RegionAnswer]
    total: int
    observed_at: Instant
    stale: bool


@router.get("", summary="The cloud's regions", dependencies=[Depends(asks_nothing)])
async def regions(catalogue: WithCatalogue, patience: WithPatience) -> RegionsAnswer:
    kept = await patience.in_time("list_regions", catalogue.regions())
    return RegionsAnswer(
        regions=[_region(each) for each in kept.value],
        total=len(kept.value),
        observed_at=kept.observed_at,
        stale=kept.is_stale,
    )


async def regions_called(words: Iterable[str], catalogue: Catalogue) -> tuple[Region, ...]:
    """Return the regions that these words mean, or refuse the words that mean none."""
    words = list(words)
    if not words:
        return ()
    found = [(word, await catalogue.region(word)) for word in words]
    unknown = [word for word, region in found if region is None]
    if unknown:
        known = ", ".join(sorted(region.code for region in (await catalogue.regions()).value))
        raise RequestRefused(
            validation_problem(
                [
                    WrongField(
                        field="region",
                        code="INVALID_REGION",
                        value=word,
                        message=f"is no region; known: {known}",
                    )
                    for word in unknown
                ]
            )
        )
    return tuple(region for _, region in found if region is not None)


def _region(region: Region) -> RegionAnswer:
    return RegionAnswer(
        id=region.id,
        code=region.code,
        name=region.name,
        gpu_types=list(region.gpu_types),
        network_storage=region.has_network_storage,
        private_networks=region.has_private_networks,
    )
