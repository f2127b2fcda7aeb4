"""Reading a request's pairs of words: environment variables and labels.

Values of the environment are secret: no error repeats one, nor the key of one that is malformed.
"""

import re
from collections.abc import Mapping

from ostler.domain.fields import FieldCode, Fields, is_object
from ostler.domain.templates import MAX_ENV_KEY_LENGTH, MAX_ENV_VALUE_LENGTH, MAX_ENVS

MAX_LABELS = 32
_LABEL_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}")
_LABEL_VALUE = re.compile(r"[^\x00-\x1f\x7f]{0,255}")
_ENVS_ALLOWED = (
    f'must be an object of texts, or a list of {{"key", "value"}}: at most {MAX_ENVS}, keys of 1 to '
    f"{MAX_ENV_KEY_LENGTH} characters without '=', values of at most {MAX_ENV_VALUE_LENGTH}"
)
_LABELS_ALLOWED = (
    f"must be an object of at most {MAX_LABELS} texts: keys of 1 to 63 letters, digits, '.', '_', '/' and -, "
    "values of at most 255 characters"
)


def read_envs(fields: Fields) -> dict[str, str]:
    """Read environment variables, given as an object or as the cloud's list of keys and values."""
    value = fields.raw("envs")
    if value is None:
        return {}
    pairs = _listed(value) if isinstance(value, list) else value
    if isinstance(value, list) and is_object(pairs) and len(pairs) < len(value):
        fields.wrong("envs", FieldCode.INVALID_ENVS, "must name each key once", is_secret=True)
        return {}
    if is_object(pairs) and len(pairs) <= MAX_ENVS and all(_is_env(*pair) for pair in pairs.items()):
        return {key: str(text) for key, text in pairs.items()}
    fields.wrong("envs", FieldCode.INVALID_ENVS, _ENVS_ALLOWED, is_secret=True)
    return {}


def read_labels(fields: Fields) -> dict[str, str]:
    """Read labels."""
    value = fields.raw("labels")
    if value is None:
        return {}
    if is_object(value) and len(value) <= MAX_LABELS and all(_is_label(*pair) for pair in value.items()):
        return {key: str(text) for key, text in value.items()}
    fields.wrong("labels", FieldCode.INVALID_LABELS, _LABELS_ALLOWED)
    return {}


def _listed(items: list[object]) -> Mapping[str, object] | None:
    pairs: dict[str, object] = {}
    for item in items:
        if not is_object(item) or set(item) != {"key", "value"}:
            return None
        key = item["key"]
        if not isinstance(key, str):
            return None
        pairs[key] = item["value"]
    return pairs


def _is_env(key: str, value: object) -> bool:
    is_key = 0 < len(key) <= MAX_ENV_KEY_LENGTH and "=" not in key and "\0" not in key
    return is_key and isinstance(value, str) and len(value) <= MAX_ENV_VALUE_LENGTH and "\0" not in value


def _is_label(key: str, value: object) -> bool:
    return (
        _LABEL_KEY.fullmatch(key) is not None
        and isinstance(value, str)
        and _LABEL_VALUE.fullmatch(value) is not None
    )
