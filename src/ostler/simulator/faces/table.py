"""All routes of all faces, in one table.

A new face is served as soon as it is listed here.
"""

from ostler.simulator.face import Route
from ostler.simulator.faces import (
    basic,
    clusters,
    instances,
    jobs,
    networks,
    prewarm,
    registry,
    serverless,
    storage,
    templates,
    v2_endpoints,
    v2_instances,
    v2_jobs,
    v2_networks,
    v2_prewarm,
    v2_products,
    v2_regions,
    v2_templates,
    v2_verbs,
)

_V1 = (clusters, instances, jobs, templates, registry, storage, networks, prewarm, serverless)
_V2 = (
    v2_regions,
    v2_products,
    v2_instances,
    v2_verbs,
    v2_jobs,
    v2_networks,
    v2_prewarm,
    v2_templates,
    v2_endpoints,
)

ROUTES: tuple[Route, ...] = tuple(route for face in (*_V1, *_V2, basic) for route in face.ROUTES)
