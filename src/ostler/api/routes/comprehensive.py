"""`/api/instances/comprehensive`: our instances and what the cloud shows of the account, merged.

The cloud's word wins wherever it is news; what `dataConsistency` says is defined in
`domain/consistency.py`. What was terminated is not here: neither side has anything of it.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from ostler.api.backing import WithComprehensive
from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Instant, Question
from ostler.api.routes.instance_answers import (
    REACHABLE,
    ConnectionDetails,
    InstanceSummary,
    PortMapping,
    ports_of,
    summary_of,
    ways_in_of,
)
from ostler.api.routes.stranger_answers import stranger_of
from ostler.domain.consistency import Consistency, Source
from ostler.domain.kinship import Kinship
from ostler.store.sightings import Sighting
from ostler.usecases.comprehensive import Member, Survey
from ostler.usecases.health import Finding, Standing
from ostler.usecases.picture import Picture

router = APIRouter(prefix="/api/instances", tags=["instances"])
_MS = 1000


class SurveyQuestion(Question):
    """What to merge."""

    include_novita_only: bool = Field(default=True, description="also what only the cloud has")
    sync_local_state: bool = Field(default=False, description="look at the account first, for at most 10 s")


class MergedInstance(InstanceSummary):
    """An instance as both sides tell it."""

    data_consistency: Consistency
    kinship: Kinship  # what it is to us
    port_mappings: list[PortMapping]
    connection_details: ConnectionDetails
    last_synced_at: Instant | None  # the same as observedAt, as earlier clients know it
    age_seconds: float | None


class SourcesAnswer(Answer):
    """How many come from where."""

    local: int
    novita: int
    merged: int


class PerformanceAnswer(Answer):
    """Where the time went, in milliseconds; what was kept in memory cost none."""

    total_request_time: float
    novita_api_time: float
    local_data_time: float
    merge_processing_time: float
    cache_hit_ratio: float


class CloudSideAnswer(Answer):
    """How much the cloud's side is worth: when it was last seen whole, and what is wrong since."""

    status: Standing
    detail: str
    observed_at: Instant | None
    age_seconds: float | None
    synced: bool | None  # whether the look that was wished for came in time


class ComprehensiveAnswer(Answer):
    """The merged list, ours first and newest first."""

    instances: list[MergedInstance]
    total: int
    sources: SourcesAnswer
    performance: PerformanceAnswer
    cloud: CloudSideAnswer


@router.get("/comprehensive", summary="Our instances and the cloud's, merged")
async def comprehensive(
    on: Exchange, question: Annotated[SurveyQuestion, Query()], merging: WithComprehensive
) -> ComprehensiveAnswer:
    survey = await merging.survey(on.asker, sync=question.sync_local_state)
    now, picture = survey.at, survey.fleet.picture
    instances = [_member(each, picture, now) for each in survey.fleet.members]
    if question.include_novita_only:
        instances += [_stranger(each, picture, now) for each in survey.fleet.strangers]
    counts = [each.source for each in instances]
    return ComprehensiveAnswer(
        instances=instances,
        total=len(instances),
        sources=SourcesAnswer(**{source.value: counts.count(source) for source in Source}),
        performance=_performance(survey),
        cloud=_cloud_side(on.instances.watcher.finding(), survey, now),
    )


def _member(member: Member, picture: Picture, now: datetime) -> MergedInstance:
    look, is_ours = member.look, member.state is member.summary.state
    row = summary_of(member.summary, picture)
    is_up = member.state in REACHABLE
    seen = {
        "status": member.state,
        "phase": row.phase if is_ours else None,
        "observed_at": member.observed_at,
        "region": (look.region_name.partition(" (")[0] if look is not None else "") or row.region,
        "product_name": (look.product_name if look is not None else "") or row.product_name,
        "gpu_num": (look.gpus if look is not None else 0) or row.gpu_num,
    }
    return MergedInstance(
        **(dict(row) | seen),
        data_consistency=member.consistency,
        kinship=Kinship.OURS,
        port_mappings=ports_of(look, is_up=is_up),
        connection_details=ways_in_of(look if is_up else None),
        last_synced_at=member.observed_at,
        age_seconds=_age(member.observed_at, now),
    )


def _stranger(seen: Sighting, picture: Picture, now: datetime) -> MergedInstance:
    row = stranger_of(seen, picture)
    return MergedInstance(
        **dict(row),
        data_consistency=Consistency.CONSISTENT,
        kinship=seen.kinship,
        port_mappings=[],
        connection_details=ways_in_of(None),
        last_synced_at=row.observed_at,
        age_seconds=_age(row.observed_at, now),
    )


def _performance(survey: Survey) -> PerformanceAnswer:
    return PerformanceAnswer(
        total_request_time=_ms(survey.total_s),
        novita_api_time=_ms(survey.cloud_s),
        local_data_time=_ms(survey.reading_s),
        merge_processing_time=_ms(survey.merging_s),
        cache_hit_ratio=round(survey.hit_ratio, 4),
    )


def _cloud_side(finding: Finding, survey: Survey, now: datetime) -> CloudSideAnswer:
    seen_at = survey.fleet.picture.taken_at
    return CloudSideAnswer(
        status=finding.standing,
        detail=finding.detail,
        observed_at=seen_at,
        age_seconds=_age(seen_at, now),
        synced=survey.is_synced,
    )


def _age(at: datetime | None, now: datetime) -> float | None:
    return None if at is None else round(max(0.0, (now - at).total_seconds()), 3)


def _ms(seconds: float) -> float:
    return round(seconds * _MS, 3)
