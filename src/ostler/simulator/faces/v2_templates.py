"""v2 templates: the same ones as in v1, with flat ports and the texts for people under `metadata`.

Volumes and tools of a template can be neither seen nor changed here; a change leaves them alone.
"""

from collections.abc import Sequence
from dataclasses import replace

from ostler.simulator.account.fields import Fields, asked, words
from ostler.simulator.account.identity import owner_uuid
from ostler.simulator.account.paging import age_place, asked_page, page_json
from ostler.simulator.account.paths import V2
from ostler.simulator.account.template import PROTOCOLS, Channel, PortGroup, Template
from ostler.simulator.face import Call, Route
from ostler.simulator.faces.templates import find_template, publish, revise, visible_templates, withdraw
from ostler.simulator.world import World


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    channels = words(call.query.get("channel", ()))
    found = [
        template
        for template in sorted(visible_templates(world, call.account), key=age_place)
        if (not channels or template.channel in channels)
        and query.text("name").casefold() in template.name.casefold()
        and query.text("type") in {"", template.kind}
    ]
    return page_json(asked_page(found, age_place, query), _template_json)


def _get(world: World, call: Call) -> object:
    return _template_json(find_template(world, call.account, call.path["id"]))


def _create(world: World, call: Call) -> object:
    return {"template_id": publish(world, call.account, _parsed(Fields(call.body), Template())).id}


def _update(world: World, call: Call) -> object:
    present = find_template(world, call.account, call.path["id"])
    return {"template_id": revise(world, call.account, _parsed(Fields(call.body), present)).id}


def _delete(world: World, call: Call) -> object:
    withdraw(world, call.account, call.path["id"])
    return {}


def _parsed(fields: Fields, base: Template) -> Template:
    """Return the template that a request describes; what it leaves out stays as it is."""
    ports = [(item.word("protocol", PROTOCOLS), item.number("port")) for item in fields.children("ports")]
    envs = tuple((item.text("key"), item.text("value")) for item in fields.children("envs"))
    changed = replace(
        base,
        name=fields.text("name", default=base.name),
        kind=fields.text("type", default=base.kind),
        channel=Channel(fields.word("channel", tuple(Channel), base.channel)),
        image=fields.text("image", default=base.image),
        registry_auth_id=fields.text("registry_auth_id", default=base.registry_auth_id),
        start_command=fields.text("command", default=base.start_command),
        entrypoint=fields.text("entrypoint", default=base.entrypoint),
        rootfs_gb=fields.number("rootfs_size_gb", default=base.rootfs_gb),
        min_cuda_version=fields.text("min_cuda_version", default=base.min_cuda_version),
        ports=_grouped(ports) if fields.has("ports") else base.ports,
        envs=envs if fields.has("envs") else base.envs,
    )
    return _described(fields.child("metadata"), changed)


def _described(fields: Fields, base: Template) -> Template:
    return replace(
        base,
        readme=fields.text("readme", default=base.readme),
        logo=fields.text("logo", default=base.logo),
        description=fields.text("description", default=base.description),
        author=fields.text("author", default=base.author),
        tags=fields.texts("tags") if fields.has("tags") else base.tags,
    )


def _grouped(ports: Sequence[tuple[str, int]]) -> tuple[PortGroup, ...]:
    return tuple(
        PortGroup(protocol, tuple(port for kind, port in ports if kind == protocol))
        for protocol in dict.fromkeys(kind for kind, _ in ports)
    )


def _template_json(template: Template) -> dict[str, object]:
    return {
        "id": template.id,
        "owner_id": owner_uuid(template.account),
        "name": template.name,
        "type": template.kind,
        "channel": template.channel,
        "image": template.image,
        "registry_auth_id": template.registry_auth_id,
        "command": template.start_command,
        "entrypoint": template.entrypoint,
        "rootfs_size_gb": template.rootfs_gb,
        "ports": [
            {"protocol": group.protocol, "port": port} for group in template.ports for port in group.ports
        ],
        "envs": [{"key": key, "value": value} for key, value in template.envs],
        "metadata": {
            "readme": template.readme,
            "logo": template.logo,
            "description": template.description,
            "author": template.author,
            "tags": list(template.tags),
        },
        "min_cuda_version": template.min_cuda_version,
        "created_at": str(template.created_at),
    }


ROUTES = (
    Route("GET", f"{V2}/templates", _list),
    Route("POST", f"{V2}/templates", _create),
    Route("GET", f"{V2}/templates/{{id}}", _get),
    Route("PUT", f"{V2}/templates/{{id}}", _update),
    Route("DELETE", f"{V2}/templates/{{id}}", _delete),
)
