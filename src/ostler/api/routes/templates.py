"""`/api/templates`: what can be run, and for each template that cannot, why.

The values of a template's environment may be secrets and are never shown; its variables are named.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from ostler.api.backing import WithCatalogue, WithPatience
from ostler.api.model import Answer, Instant, Question, asks_nothing
from ostler.api.problems import Problem, RequestRefused
from ostler.cloud.refusals import Gone
from ostler.domain.catalogue import Channel
from ostler.domain.templates import TemplateVerdict

router = APIRouter(prefix="/api/templates", tags=["catalogue"])


class TemplatesQuestion(Question):
    """Which templates are asked for."""

    channel: Channel | None = Field(
        None, description="whose templates; none means the account's and the cloud's"
    )
    name: str | None = Field(
        None, min_length=1, max_length=255, description="a part of the name, in any case"
    )


class TemplatePort(Answer):
    """A port that the template exposes."""

    port: int
    type: str


class TemplateProblem(Answer):
    """Why the template cannot be run as it is."""

    field: str
    value: str
    message: str


class TemplateAnswer(Answer):
    """A template; it can be run if it has no problems."""

    id: str
    name: str
    image: str
    channel: str
    rootfs_size: int
    ports: list[TemplatePort]
    env_names: list[str]
    start_command: str
    entrypoint: str
    registry_auth_id: str
    min_cuda_version: str
    valid: bool
    problems: list[TemplateProblem]


class OneTemplateAnswer(TemplateAnswer):
    """A template with its age."""

    observed_at: Instant
    stale: bool


class TemplatesAnswer(Answer):
    """Templates by name."""

    templates: list[TemplateAnswer]
    total: int
    observed_at: Instant
    stale: bool


@router.get("", summary="What can be run")
async def templates(
    catalogue: WithCatalogue, patience: WithPatience, question: Annotated[TemplatesQuestion, Query()]
) -> TemplatesAnswer:
    channels = [question.channel] if question.channel else [Channel.PRIVATE, Channel.OFFICIAL]
    reading = asyncio.gather(*(catalogue.templates(channel) for channel in channels))
    kept = await patience.in_time("list_templates", reading)
    part = (question.name or "").casefold()
    found = [each for one in kept for each in one.value if part in each.sheet.name.casefold()]
    return TemplatesAnswer(
        templates=[_template(each) for each in sorted(found, key=lambda each: each.sheet.name.casefold())],
        total=len(found),
        observed_at=min(each.observed_at for each in kept),
        stale=any(each.is_stale for each in kept),
    )


@router.get("/{template_id}", summary="One template", dependencies=[Depends(asks_nothing)])
async def template(
    catalogue: WithCatalogue,
    patience: WithPatience,
    template_id: Annotated[str, Path(min_length=1, max_length=255)],
) -> OneTemplateAnswer:
    try:
        kept = await patience.in_time("get_template", catalogue.template(template_id))
    except Gone as error:
        message = f"There is no template {template_id}."
        raise RequestRefused(
            Problem(
                404,
                "TEMPLATE_NOT_FOUND",
                message,
                {"templateId": template_id},
                "GET /api/templates lists them",
            )
        ) from error
    return OneTemplateAnswer(
        **_template(kept.value).model_dump(), observed_at=kept.observed_at, stale=kept.is_stale
    )


def _template(verdict: TemplateVerdict) -> TemplateAnswer:
    sheet = verdict.sheet
    return TemplateAnswer(
        id=sheet.id,
        name=sheet.name,
        image=sheet.image,
        channel=sheet.channel,
        rootfs_size=sheet.rootfs_gb,
        ports=[TemplatePort(port=each.number, type=each.protocol) for each in sheet.ports],
        env_names=[name for name, _ in sheet.envs],
        start_command=sheet.start_command,
        entrypoint=sheet.entrypoint,
        registry_auth_id=sheet.registry_auth_id,
        min_cuda_version=sheet.min_cuda_version,
        valid=verdict.template is not None,
        problems=[
            TemplateProblem(field=each.field, value=each.value, message=each.message)
            for each in verdict.problems
        ],
    )
