"""Templates of the simulated cloud, through v1's routes and as rules.

The default set is part of what is tested: it must obey the rules for everybody.
"""

from dataclasses import replace

import pytest

from ostler.simulator.account.template import PortGroup, Template, Tool, checked
from ostler.simulator.account.template_catalogue import SHARED_TEMPLATES
from ostler.simulator.refusal import Refusal
from tests.support.simulated_account import V1, Answer, Cloud

MINIMAL = {"name": "t", "type": "instance", "channel": "private", "image": "redis", "rootfsSize": 10}
WHOLE = Template(name="t", image="redis", rootfs_gb=10)


def create(cloud: Cloud, **fields: object) -> Answer:
    return cloud.post(f"{V1}/template/create", {"template": {**MINIMAL, **fields}})


def get(cloud: Cloud, template_id: str) -> Answer:
    return cloud.get(f"{V1}/template", {"templateId": template_id})


def ids(answer: Answer) -> list[object]:
    return [row["Id"] for row in answer.rows("template")]


def test_a_minimal_template_is_made_and_found_again() -> None:
    cloud = Cloud()

    template_id = create(cloud).text("templateId")

    template = get(cloud, template_id)["template"]
    assert isinstance(template, dict)
    assert (template["Id"], template["name"], template["image"]) == (template_id, "t", "redis")
    assert template["createTime"] == "1785780950"
    assert template["volumes"] == template["ports"] == template["envs"] == template["tools"] == []


def test_ports_may_be_written_as_strings_as_in_the_older_documents() -> None:
    cloud = Cloud()

    answer = create(cloud, ports=[{"type": "tcp", "ports": ["8080"]}])

    template = get(cloud, answer.text("templateId"))["template"]
    assert isinstance(template, dict)
    assert template["ports"] == [{"type": "tcp", "ports": [8080]}]


def test_everything_that_is_given_is_kept() -> None:
    cloud = Cloud()
    given: dict[str, object] = {
        "readme": "r",
        "logo": "l",
        "startCommand": "run",
        "entrypoint": "/bin/sh",
        "volumes": [{"type": "local", "size": 20, "mountPath": "/workspace"}],
        "ports": [{"type": "http", "ports": [80, 81]}],
        "envs": [{"key": "A", "value": "1"}],
        "tools": [{"name": "Jupyter", "describe": "d", "port": 8888, "type": "http"}],
        "recommendCards": [{"gpuSpecId": "4090.16c62g", "cardNum": 2}],
        "minCudaVersion": "12.4",
    }

    template = get(cloud, create(cloud, **given).text("templateId"))["template"]

    assert isinstance(template, dict)
    assert template.items() >= {**MINIMAL, **given}.items()


def test_an_update_leaves_what_it_does_not_name() -> None:
    cloud = Cloud()
    template_id = create(cloud, envs=[{"key": "A", "value": "1"}]).text("templateId")

    answer = cloud.post(f"{V1}/template/update", {"template": {"Id": template_id, "name": "renamed"}})

    assert answer["templateId"] == template_id
    template = get(cloud, template_id)["template"]
    assert isinstance(template, dict)
    assert (template["name"], template["image"]) == ("renamed", "redis")
    assert template["envs"] == [{"key": "A", "value": "1"}]


def test_a_deleted_template_is_missing_as_a_400() -> None:
    cloud = Cloud()
    template_id = create(cloud).text("templateId")

    first = cloud.post(f"{V1}/template/delete", {"templateId": template_id})
    second = cloud.post(f"{V1}/template/delete", {"templateId": template_id})

    assert first.body == {"templateId": template_id}
    assert (second.status, second["message"]) == (400, "template not found")
    assert get(cloud, template_id).status == 400


@pytest.mark.parametrize("query", [("private", "official"), ("private,official",)])
def test_channels_may_be_repeated_or_joined(query: tuple[str, ...]) -> None:
    cloud = Cloud()

    answer = cloud.send("GET", f"{V1}/templates", {"channel": query, "pageSize": ("50",)})

    assert {row["channel"] for row in answer.rows("template")} == {"private", "official"}


def test_the_list_is_paged_and_says_how_much_there_is() -> None:
    cloud = Cloud()

    pages = [cloud.get(f"{V1}/templates", {"pageSize": "3", "pageNum": number}) for number in ("0", "1", "2")]

    assert ids(pages[0]) == ids(pages[1])
    assert not set(ids(pages[1])) & set(ids(pages[2]))
    assert (pages[2]["pageSize"], pages[2]["pageNum"], pages[2]["total"]) == (3, 2, 8)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"name": "VLLM"}, {"vllm-openai"}),
        ({"type": "serverless"}, set()),
        ({"isMyCommunity": "true"}, {"private-api"}),
    ],
)
def test_the_list_is_filtered(query: dict[str, str], names: set[str]) -> None:
    answer = Cloud().get(f"{V1}/templates", query)

    assert {row["name"] for row in answer.rows("template")} == names


def test_a_private_template_is_nobody_elses() -> None:
    cloud = Cloud()
    template_id = create(cloud).text("templateId")
    other = Cloud(cloud.world, "sk_other")

    assert get(other, template_id).status == 400
    assert template_id not in ids(other.get(f"{V1}/templates", {"pageSize": "50"}))


def test_a_community_template_is_seen_by_others_but_changed_by_its_owner_only() -> None:
    cloud = Cloud()
    template_id = create(cloud, channel="community").text("templateId")
    other = Cloud(cloud.world, "sk_other")

    assert get(other, template_id).status == 200
    assert template_id in ids(other.get(f"{V1}/templates", {"pageSize": "50"}))
    assert other.post(f"{V1}/template/delete", {"templateId": template_id}).reason == "NO_PERMISSION"
    assert get(cloud, template_id).status == 200


@pytest.mark.parametrize("template", SHARED_TEMPLATES, ids=lambda template: template.name)
def test_the_clouds_own_templates_are_valid_and_cannot_be_changed(template: Template) -> None:
    cloud = Cloud()

    update = cloud.post(f"{V1}/template/update", {"template": {"Id": template.id, "name": "mine"}})

    assert checked(template) is template
    assert get(cloud, template.id).status == 200
    assert (update.status, update.reason) == (403, "NO_PERMISSION")


def test_users_cannot_make_official_templates() -> None:
    answer = create(Cloud(), channel="official")

    assert (answer.status, answer.reason) == (403, "NO_PERMISSION")


def test_credentials_that_do_not_exist_are_refused() -> None:
    assert create(Cloud(), imageAuth="no-such-auth")["message"] == "repository auth not found"


def test_a_new_account_has_a_private_template_with_its_credentials() -> None:
    cloud = Cloud()

    template = cloud.get(f"{V1}/templates", {"channel": "private"}).rows("template")[0]

    auths = cloud.get(f"{V1}/repository/auths").rows()
    assert template["imageAuth"] in {auth["id"] for auth in auths}


@pytest.mark.parametrize(
    "wrong",
    [
        replace(WHOLE, name=""),
        replace(WHOLE, name="x" * 256),
        replace(WHOLE, image=""),
        replace(WHOLE, image="x" * 501),
        replace(WHOLE, readme="x" * 20_481),
        replace(WHOLE, start_command="x" * 2048),
        replace(WHOLE, entrypoint="x" * 2048),
        replace(WHOLE, rootfs_gb=9),
        replace(WHOLE, rootfs_gb=6145),
        replace(WHOLE, kind="virtual"),
        replace(WHOLE, ports=(PortGroup("icmp", (1,)),)),
        replace(WHOLE, ports=(PortGroup("tcp", (0,)),)),
        replace(WHOLE, ports=(PortGroup("tcp", (65_536,)),)),
        replace(WHOLE, ports=(PortGroup("tcp", (2223,)),)),
        replace(WHOLE, ports=(PortGroup("tcp", tuple(range(1, 17))),)),
        replace(WHOLE, ports=(PortGroup("tcp", tuple(range(1, 16))),), tools=(Tool("T", 99, "http"),)),
        replace(WHOLE, envs=(("", "v"),)),
        replace(WHOLE, envs=(("k" * 512, "v"),)),
        replace(WHOLE, envs=(("k", "v" * 4096),)),
        replace(WHOLE, envs=(("k", "v"),) * 101),
    ],
)
def test_a_template_that_breaks_a_limit_is_refused(wrong: Template) -> None:
    with pytest.raises(Refusal) as refusal:
        checked(wrong)

    assert (refusal.value.status, refusal.value.reason) == (400, "VALIDATOR_PARAM")


def test_a_refusal_of_too_many_ports_counts_the_tools() -> None:
    ports = (PortGroup("tcp", tuple(range(1, 16))),)

    with pytest.raises(Refusal, match="at most 15 ports and tools, not 16"):
        checked(replace(WHOLE, ports=ports, tools=(Tool("T", 99, "http"),)))


def test_a_template_at_its_limits_is_accepted() -> None:
    most = replace(
        WHOLE,
        name="x" * 255,
        image="x" * 500,
        start_command="x" * 2047,
        rootfs_gb=6144,
        ports=(PortGroup("udp", tuple(range(1, 15))),),
        tools=(Tool("T", 99, "http"),),
        envs=(("k" * 511, "v" * 4095),) * 100,
    )

    assert checked(most) is most
