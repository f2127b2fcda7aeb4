"""v1 templates: list, get, create, update, delete.

The vendor's spelling is capricious and kept: the list's key is `template` in the singular, ids are `Id`, and
a missing template is a 400.
"""

from dataclasses import replace

from ostler.simulator.account.fields import Fields, asked, words
from ostler.simulator.account.identity import user_number
from ostler.simulator.account.kinds import (
    REGISTRY_AUTHS,
    TEMPLATES,
    find_owned,
    forget,
    keep,
    listed,
    listed_of,
)
from ostler.simulator.account.paging import DEFAULT_PAGE_SIZE, numbered_page
from ostler.simulator.account.paths import V1
from ostler.simulator.account.template import (
    Card,
    Channel,
    PortGroup,
    Template,
    Tool,
    Volume,
    checked,
    owned,
    published,
)
from ostler.simulator.account.template_catalogue import SHARED_TEMPLATES, shared_template
from ostler.simulator.face import Call, Route
from ostler.simulator.refusal import missing
from ostler.simulator.world import World


def visible_templates(world: World, account: str) -> list[Template]:
    """Return what lists show an account: its own, then what others have published, then the cloud's."""
    published_by_others = [
        template
        for template in listed(world, TEMPLATES)
        if template.account != account and template.channel is Channel.COMMUNITY
    ]
    return [*listed_of(world, TEMPLATES, account), *published_by_others, *SHARED_TEMPLATES]


def find_template(world: World, account: str, template_id: str) -> Template:
    """Return a template that an account sees; others are missing."""
    kept = world.rows(TEMPLATES).get(template_id)
    if kept is not None and (kept.account == account or kept.channel is Channel.COMMUNITY):
        return kept
    shared = shared_template(template_id)
    if shared is None:
        raise missing(what="template")
    return shared


def publish(world: World, account: str, wanted: Template) -> Template:
    """Keep a new template; its credentials must exist."""
    _check_auth(world, account, wanted)
    template = published(
        wanted, account=account, template_id=world.new_id(TEMPLATES.name), now=int(world.now)
    )
    return keep(world, TEMPLATES, template)


def revise(world: World, account: str, changed: Template) -> Template:
    """Replace a template by its changed form."""
    owned(find_template(world, account, changed.id), account)
    _check_auth(world, account, changed)
    return keep(world, TEMPLATES, checked(changed))


def withdraw(world: World, account: str, template_id: str) -> Template:
    """Delete a template of one's own."""
    template = owned(find_template(world, account, template_id), account)
    forget(world, TEMPLATES, template)
    return template


def _check_auth(world: World, account: str, template: Template) -> None:
    if template.registry_auth_id:
        find_owned(world, REGISTRY_AUTHS, account, template.registry_auth_id)


def _list(world: World, call: Call) -> object:
    query = asked(call.query)
    channels = words(call.query.get("channel", ()))
    found = [
        template
        for template in visible_templates(world, call.account)
        if (not channels or template.channel in channels)
        and query.text("name").casefold() in template.name.casefold()
        and query.text("type") in {"", template.kind}
        and (not query.flag("isMyCommunity") or template.account == call.account)
    ]
    number, size = query.number("pageNum"), query.number("pageSize", default=DEFAULT_PAGE_SIZE)
    return {
        "template": [template_json(template) for template in numbered_page(found, number, size)],
        "pageSize": size,
        "pageNum": number,
        "total": len(found),
    }


def _get(world: World, call: Call) -> object:
    return {"template": template_json(find_template(world, call.account, call.first("templateId")))}


def _create(world: World, call: Call) -> object:
    wanted = _parsed(Fields(call.body).child("template"), Template())
    return {"templateId": publish(world, call.account, wanted).id}


def _update(world: World, call: Call) -> object:
    fields = Fields(call.body).child("template")
    present = find_template(world, call.account, fields.text("Id"))
    return {"templateId": revise(world, call.account, _parsed(fields, present)).id}


def _delete(world: World, call: Call) -> object:
    return {"templateId": withdraw(world, call.account, Fields(call.body).text("templateId")).id}


def _parsed(fields: Fields, base: Template) -> Template:
    """Return the template that a request describes; what it leaves out stays as it is."""
    changed = replace(
        base,
        name=fields.text("name", default=base.name),
        readme=fields.text("readme", default=base.readme),
        logo=fields.text("logo", default=base.logo),
        kind=fields.text("type", default=base.kind),
        channel=Channel(fields.word("channel", tuple(Channel), base.channel)),
        image=fields.text("image", default=base.image),
        registry_auth_id=fields.text("imageAuth", default=base.registry_auth_id),
        start_command=fields.text("startCommand", default=base.start_command),
        entrypoint=fields.text("entrypoint", default=base.entrypoint),
        rootfs_gb=fields.number("rootfsSize", default=base.rootfs_gb),
        min_cuda_version=fields.text("minCudaVersion", default=base.min_cuda_version),
    )
    return _parsed_lists(fields, changed)


def _parsed_lists(fields: Fields, base: Template) -> Template:
    volumes = tuple(
        Volume(item.text("type", default="local"), item.number("size"), item.text("mountPath"))
        for item in fields.children("volumes")
    )
    ports = tuple(PortGroup(item.text("type"), item.numbers("ports")) for item in fields.children("ports"))
    envs = tuple((item.text("key"), item.text("value")) for item in fields.children("envs"))
    tools = tuple(
        Tool(
            item.text("name"),
            item.number("port"),
            item.text("type", default="http"),
            item.text("describe"),
        )
        for item in fields.children("tools")
    )
    cards = tuple(
        Card(item.text("gpuSpecId"), item.number("cardNum")) for item in fields.children("recommendCards")
    )
    return replace(
        base,
        volumes=volumes if fields.has("volumes") else base.volumes,
        ports=ports if fields.has("ports") else base.ports,
        envs=envs if fields.has("envs") else base.envs,
        tools=tools if fields.has("tools") else base.tools,
        cards=cards if fields.has("recommendCards") else base.cards,
    )


def template_json(template: Template) -> dict[str, object]:
    """Return a template as v1 shows it."""
    return {
        "Id": template.id,
        "user": user_number(template.account),
        "name": template.name,
        "readme": template.readme,
        "logo": template.logo,
        "type": template.kind,
        "channel": template.channel,
        "image": template.image,
        "imageAuth": template.registry_auth_id,
        "startCommand": template.start_command,
        "entrypoint": template.entrypoint,
        "rootfsSize": template.rootfs_gb,
        "volumes": [
            {"type": volume.kind, "size": volume.size_gb, "mountPath": volume.mount_path}
            for volume in template.volumes
        ],
        "ports": [{"type": group.protocol, "ports": list(group.ports)} for group in template.ports],
        "envs": [{"key": key, "value": value} for key, value in template.envs],
        "tools": [
            {"name": tool.name, "describe": tool.description, "port": tool.port, "type": tool.protocol}
            for tool in template.tools
        ],
        "createTime": str(template.created_at),
        "recommendCards": [{"gpuSpecId": card.product_id, "cardNum": card.count} for card in template.cards],
        "minCudaVersion": template.min_cuda_version,
    }


ROUTES = (
    Route("GET", f"{V1}/templates", _list),
    Route("GET", f"{V1}/template", _get),
    Route("POST", f"{V1}/template/create", _create),
    Route("POST", f"{V1}/template/update", _update),
    Route("POST", f"{V1}/template/delete", _delete),
)
