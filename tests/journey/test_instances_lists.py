"""Lists of instances over HTTP: filters, labels, pages, and names that several have."""

from collections.abc import Iterator

import pytest

from tests.support.home import Details, Home, a_name, at_home, code_of, details_in, parts


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with at_home(tmp_path_factory.mktemp("ostler")) as running:
        yield running


def page(home: Home, **query: str | int | list[str]) -> Details:
    answer = home.api.get("/api/instances", params=query)
    assert answer.status_code == 200, answer.text
    return details_in(answer)


def ids(found: Details) -> list[object]:
    return [each["id"] for each in parts(found, "instances")]


def test_a_list_is_narrowed_by_name_project_region_and_status(home: Home) -> None:
    project = a_name()
    mine = home.running(project=project, region="US-CA-06", regions=["US-CA-06"])
    other = home.exited(project=project)
    assert set(ids(page(home, project=project))) == {mine, other}
    assert ids(page(home, project=project, region="US-CA-06")) == [mine]
    assert ids(page(home, project=project, status="running")) == [mine]
    assert ids(page(home, project=project, status="stopped")) == [other]
    assert ids(page(home, project=project, status="exited")) == [other]
    assert len(ids(page(home, project=project, status=["running", "exited"]))) == 2
    assert len(ids(page(home, project=project, status="running,stopped"))) == 2
    assert ids(page(home, name=str(home.looked(mine)["name"]))) == [mine]


def test_labels_narrow_by_key_and_by_value(home: Home) -> None:
    team = a_name()
    blue = home.created(labels={"team": team, "colour": "blue"})
    red = home.created(labels={"team": team, "colour": "red"})
    assert ids(page(home, label=f"team={team}")) == [red, blue]
    assert ids(page(home, label=[f"team={team}", "colour=red"])) == [red]
    assert ids(page(home, label=[f"team={team}", "size"])) == []
    assert ids(page(home, label=[f"team={team}", "colour"])) == [red, blue]


def test_pages_by_cursor_and_by_offset_show_everything_once_newest_first(home: Home) -> None:
    project = a_name()
    made = [home.created(project=project) for _ in range(5)]
    first = page(home, project=project, limit=2)
    assert (first["total"], first["limit"], first["offset"]) == (5, 2, 0)
    walked, cursor = ids(first), first["nextCursor"]
    while cursor:
        further = page(home, project=project, limit=2, cursor=str(cursor))
        walked, cursor = walked + ids(further), further["nextCursor"]
    assert walked == made[::-1]
    assert [*ids(first), *ids(page(home, project=project, limit=3, offset=2))] == made[::-1]


def test_a_row_of_a_list_says_the_same_as_the_details(home: Home) -> None:
    instance_id = home.running(labels={"a": "b"})
    row = parts(page(home, name=str(home.looked(instance_id)["name"])), "instances")[0]
    details = home.looked(instance_id)
    # what was observed since may be newer
    assert {name: details[name] for name in row if name != "observedAt"} == {
        name: value for name, value in row.items() if name != "observedAt"
    }


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ({"status": "sleeping"}, ("status", "INVALID_STATUS")),
        ({"status": "running,"}, ("status", "INVALID_STATUS")),
        ({"label": "=blue"}, ("label", "INVALID_LABEL")),
        ({"cursor": "next"}, ("cursor", "INVALID_CURSOR")),
        ({"cursor": "novita:9", "offset": "1"}, ("cursor", "INVALID_CURSOR")),
        ({"limit": "501"}, ("limit", "INVALID_LIMIT")),
        ({"limit": "0"}, ("limit", "INVALID_LIMIT")),
        ({"offset": "-1"}, ("offset", "INVALID_OFFSET")),
        ({"colour": "blue"}, ("colour", "UNKNOWN_FIELD")),
    ],
)
def test_a_filter_that_is_none_is_refused(home: Home, query: dict[str, str], wrong: tuple[str, str]) -> None:
    answer = home.api.get("/api/instances", params=query)
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    told = answer.json()["error"]["validationErrors"]
    assert [(each["field"], each["code"]) for each in told] == [wrong]


def test_all_that_is_wrong_with_a_question_is_told_at_once(home: Home) -> None:
    query = {
        "status": "sleeping",
        "limit": "0",
        "cursor": "next",
        "source": "here",
        "colour": "blue",
        "label": "=",
    }
    told = home.api.get("/api/instances", params=query).json()["error"]["validationErrors"]
    assert {each["field"] for each in told} == set(query)
    assert not any("pattern" in each["message"] for each in told)  # what is allowed is said in words


def test_a_name_that_several_have_is_told_with_their_ids_and_does_nothing(home: Home) -> None:
    name = a_name()
    both = {home.created(name=name), home.created(name=name)}
    answers = [
        home.api.get(f"/api/instances/by-name/{name}"),
        *(
            home.api.post(f"/api/instances/{verb}", json={"instanceName": name})
            for verb in ("start", "stop", "delete")
        ),
    ]
    for answer in answers:
        assert code_of(answer) == (409, "NAME_AMBIGUOUS")
        assert set(answer.json()["error"]["details"]["instanceIds"]) == both
    kinds = {each["kind"] for instance_id in both for each in home.listed(instance_id, "operations")}
    assert kinds == {"create"}
