"""The API's document as tests walk it: every operation with its parameters and the fields of its body.

What walks the document meets a new route by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that may be said of a request beside its body."""

    name: str
    place: str  # path, query or header


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that may be asked; `fields` are those of its body, inner ones as `outer.inner`."""

    method: str
    path: str
    parameters: Sequence[Parameter] = ()
    fields: Sequence[str] = ()
    has_body: bool = False
    statuses: Sequence[str] = field(default=())

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def at(self, values: Mapping[str, str]) -> str:
        """Return the path with values for its parameters; those that are not named get a word."""
        path = self.path
        for parameter in self.parameters:
            if parameter.place == "path":
                path = path.replace(f"{{{parameter.name}}}", values.get(parameter.name, "nobody"))
        return path


def operations(api: httpx2.Client) -> list[Operation]:
    """Return every operation of a server's document."""
    document = _mapping(api.get("/openapi.json").raise_for_status().json())
    return [
        _operation(document, path, method, _mapping(said))
        for path, methods in _mapping(document["paths"]).items()
        for method, said in _mapping(methods).items()
    ]


def _operation(document: Schema, path: str, method: str, said: Schema) -> Operation:
    listed = said.get("parameters", [])
    assert isinstance(listed, list)
    return Operation(
        method=method.upper(),
        path=path,
        parameters=[Parameter(str(each["name"]), str(each["in"])) for each in listed],
        fields=sorted(set(_fields(document, _body(said)))),
        has_body="requestBody" in said,
        statuses=list(_mapping(said["responses"])),
    )


def _body(said: Schema) -> Schema:
    found: object = said
    for step in ("requestBody", "content", "application/json", "schema"):
        found = _mapping(found).get(step, {})
    return _mapping(found)


def _fields(document: Schema, schema: Schema, prefix: str = "") -> Iterator[str]:
    """Yield the names of the fields of a body, whatever it is composed of."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        schema = _mapping(_mapping(_mapping(document["components"])["schemas"])[name])
    for name, inner in _mapping(schema.get("properties", {})).items():
        yield prefix + name
        yield from _fields(document, _mapping(inner), f"{prefix}{name}.")
    for word in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(word, [])
        assert isinstance(choices, list)
        for each in choices:
            yield from _fields(document, each, prefix)


def _mapping(value: object) -> Schema:
    assert isinstance(value, dict)
    return value
