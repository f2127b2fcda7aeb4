"""`/api/cache`: what is kept in memory, how well it serves, and how to make it forget.

Forgetting is always safe: what is missing is read from the cloud again. The two caches of instances are views
over the rows, which are no copies: there is nothing to forget in them, and what is old is renewed by itself.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body
from starlette.exceptions import HTTPException

from ostler.api.backing import WithCaches
from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Question
from ostler.api.problems import Problem, RequestRefused
from ostler.cloud.caches import Caches, CacheStats, CacheView
from ostler.domain.fields import cut
from ostler.usecases.picture import STALE_AFTER
from ostler.usecases.row_views import DETAILS, ROW_VIEWS, STATES, ViewStats

router = APIRouter(prefix="/api/cache", tags=["caches"])


class CacheAnswer(Answer):
    """How one cache does."""

    size: int
    max_size: int | None  # None: there is no limit
    ttl_seconds: float  # of a view over rows: for how long what was seen counts as fresh
    hits: int
    misses: int
    sets: int
    evictions: int
    hit_ratio: float
    oldest_seconds: float | None = None  # of a view over rows: the age of what was seen longest ago
    fresh: int | None = None  # of a view over rows: how many were seen within `ttlSeconds`


class CachesAnswer(Answer):
    """How all caches do."""

    caches: Mapping[str, CacheAnswer]
    tracked_states: int  # instances that are looked after
    cached_ids: int  # of them, those whose details are known


class ClearQuestion(Question):
    """What to forget; no name means everything."""

    cache_name: str | None = None


class ForgottenAnswer(Answer):
    """How many values were forgotten."""

    message: str
    removed: int
    caches: Mapping[str, int]  # how many of each


@router.get("/stats", summary="How all caches do")
async def stats_of_all(caches: WithCaches, on: Exchange) -> CachesAnswer:
    views = await on.instances.row_views.stats()
    return CachesAnswer(
        caches={name: _cache(stats) for name, stats in caches.stats().items()}
        | {name: _view(stats) for name, stats in views.items()},
        tracked_states=views[STATES].size,
        cached_ids=views[DETAILS].size,
    )


@router.get("/{name}/stats", summary="How one cache does")
async def stats(caches: WithCaches, on: Exchange, name: str) -> CacheAnswer:
    if name in ROW_VIEWS:
        return _view((await on.instances.row_views.stats())[name])
    return _cache(_called(name, caches).stats())


@router.post("/clear", summary="Forget one cache, or all")
async def clear(
    caches: WithCaches, question: Annotated[ClearQuestion | None, Body()] = None
) -> ForgottenAnswer:
    name = question.cache_name if question else None
    return _cleared(caches, name)


@router.delete("", summary="Forget all caches")
async def clear_all(caches: WithCaches) -> ForgottenAnswer:
    return _cleared(caches, None)


@router.delete("/{name}", summary="Forget one cache")
async def clear_one(caches: WithCaches, name: str) -> ForgottenAnswer:
    return _cleared(caches, name)


@router.delete("/{name}/{key:path}", summary="Forget one value of a cache")
async def forget(caches: WithCaches, name: str, key: str) -> ForgottenAnswer:
    if not key:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    if name in ROW_VIEWS:
        return _nothing_in(name)
    was_there = _called(name, caches).delete(key)
    message = f"Forgot {cut(key)} of {name}." if was_there else f"There is no {cut(key)} in {name}."
    return _forgotten(message, {name: int(was_there)})


@router.post("/cleanup", summary="Forget what has outlived its time")
async def cleanup(
    caches: WithCaches, question: Annotated[ClearQuestion | None, Body()] = None
) -> ForgottenAnswer:
    name = question.cache_name if question else None
    if name in ROW_VIEWS:
        return _nothing_in(name)
    removed = {each: view.cleanup() for each, view in _meant(caches, name).items()}
    return _forgotten("Forgot what had outlived its time.", removed)


def _cleared(caches: Caches, name: str | None) -> ForgottenAnswer:
    if name in ROW_VIEWS:
        return _nothing_in(name)
    removed = {each: view.clear() for each, view in _meant(caches, name).items()}
    return _forgotten(f"Forgot {name or 'all caches'}.", removed)


def _meant(caches: Caches, name: str | None) -> Mapping[str, CacheView]:
    return {each: _called(each, caches) for each in (caches.names() if name is None else (name,))}


def _nothing_in(name: str) -> ForgottenAnswer:
    return _forgotten(f"{name} shows the rows themselves: there is nothing to forget.", {name: 0})


def _called(name: str, caches: Caches) -> CacheView:
    found = caches.find(name)
    if found is None:
        known = [*caches.names(), *ROW_VIEWS]
        message = f"There is no cache {cut(name)!r}; known: {', '.join(known)}."
        raise RequestRefused(Problem(404, "NOT_FOUND", message, {"cacheName": cut(name), "known": known}))
    return found


def _forgotten(message: str, removed: Mapping[str, int]) -> ForgottenAnswer:
    return ForgottenAnswer(message=message, removed=sum(removed.values()), caches=removed)


def _view(stats: ViewStats) -> CacheAnswer:
    lookups = stats.lookups
    count = lookups.hits + lookups.misses
    return CacheAnswer(
        size=stats.size,
        max_size=None,
        ttl_seconds=STALE_AFTER.total_seconds(),
        hits=lookups.hits,
        misses=lookups.misses,
        sets=stats.sets,
        evictions=0,
        hit_ratio=round(lookups.hits / count, 4) if count else 0.0,
        oldest_seconds=None if stats.oldest is None else round(stats.oldest.total_seconds(), 3),
        fresh=stats.fresh,
    )


def _cache(stats: CacheStats) -> CacheAnswer:
    return CacheAnswer(
        size=stats.size,
        max_size=stats.max_size,
        ttl_seconds=stats.life_s,
        hits=stats.hits,
        misses=stats.misses,
        sets=stats.sets,
        evictions=stats.evictions,
        hit_ratio=round(stats.hit_ratio, 4),
    )
