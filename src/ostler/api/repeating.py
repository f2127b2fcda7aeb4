"""Requests that may be sent again: the `Idempotency-Key` of a request, with what it was asked.

A key means one request: its route, the ids in its path and its body. Under another of these it is refused.
What was answered before is the use cases' matter.
"""

import hashlib
from typing import Annotated

import orjson
from fastapi import Depends, Header, Request

from ostler.api.exchange import Exchange
from ostler.api.json_body import JsonBody
from ostler.store.idempotency import RequestKey


async def _request_key(
    request: Request,
    on: Exchange,
    body: JsonBody,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> RequestKey | None:
    if idempotency_key is None:
        return None
    ids = request.path_params
    asked: object = {"ids": ids, "body": body} if ids else body
    digest = hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()
    route = f"{request.method} {request.scope['route'].path}"
    return RequestKey(on.caller.key_id, route, idempotency_key, digest)


OnceKey = Annotated[RequestKey | None, Depends(_request_key)]
