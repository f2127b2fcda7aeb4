"""A *control*: one way in which a person or a test looks behind the pretend cloud, or bends it.

Path parameters, query and body of a control are one set of named parameters, checked by its model; a wrong
one is refused with a 400 that names it. No key is asked for, since the simulator listens on loopback.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from ostler.simulator.cloud import Cloud, body_of
from ostler.simulator.control_bodies import Body
from ostler.simulator.exchange import Reply, Request, json_reply, refusal_reply
from ostler.simulator.refusal import Refusal

B = TypeVar("B", bound=Body)

_LONGEST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Control:
    """One control; `path` is below `/_sim`, in Starlette's notation."""

    method: str
    path: str
    takes: type[Body]
    act: Callable[[Cloud, Body], object]

    def parameters(self) -> list[str]:
        """Return the names of what it takes."""
        return [to_camel(name) for name in self.takes.model_fields]


def control(method: str, path: str, takes: type[B], act: Callable[[Cloud, B], object]) -> Control:
    """Return a control whose act gets exactly what its model checked."""
    return Control(method, path, takes, cast("Callable[[Cloud, Body], object]", act))


def perform_control(
    cloud: Cloud, wanted: Control, request: Request, parameters: Mapping[str, object]
) -> Reply:
    """Carry out a control, and save what it changed."""
    cloud.catch_up()
    try:
        return json_reply(wanted.act(cloud, _checked(wanted, request, parameters)))
    except Refusal as refusal:
        return refusal_reply(refusal)
    finally:
        cloud.save()


def bad_control(message: str) -> Refusal:
    """Return the refusal of a control that asks for what cannot be."""
    return Refusal(400, "BAD_CONTROL", message)


def _checked(wanted: Control, request: Request, parameters: Mapping[str, object]) -> Body:
    query = {key: values[0] for key, values in request.query.items()}
    try:
        return wanted.takes.model_validate({**query, **body_of(request), **parameters})
    except ValidationError as error:
        raise bad_control("; ".join(_complaints(wanted, error))) from error


def _complaints(wanted: Control, error: ValidationError) -> Iterator[str]:
    """Yield which parameter is wrong, what was seen, and what would be right."""
    for found in error.errors(include_url=False):
        name = ".".join(map(str, found["loc"]))
        said = found["msg"].removeprefix("Value error, ")
        if found["type"] == "extra_forbidden":
            known = ", ".join(wanted.parameters()) or "nothing"
            yield f"{name}: unknown; {wanted.method} /_sim{wanted.path} takes {known}"
        elif not name or found["type"] == "missing":
            yield f"{name or 'body'}: {said}"
        else:
            yield f"{name}: {said}, not {found['input']!r:.{_LONGEST_SHOWN}}"
