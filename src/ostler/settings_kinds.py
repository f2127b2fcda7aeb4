"""Kinds of settings: texts of which more is demanded than that they are texts.

Each check raises a ValueError that says what is allowed and repeats nothing of the value, which is a secret.
Used by settings.py and settings_fleet.py for their fields.
"""

import base64
import binascii
import ipaddress
import re
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, AnyHttpUrl, SecretStr

_REMARK = re.compile(r"\s#")
_HOST_NAME = re.compile(r"[0-9A-Za-z_]([0-9A-Za-z_.-]*[0-9A-Za-z_.])?")


def _filled(secret: SecretStr) -> SecretStr:
    if not secret.get_secret_value():  # of white space alone, which is taken away before
        msg = "must be a text that is not empty"
        raise ValueError(msg)
    return secret


def _sendable(key: SecretStr) -> SecretStr:
    text = _filled(key).get_secret_value()
    if not (text.isascii() and text.isprintable()) or " " in text:
        msg = "must be printable ASCII without spaces"
        raise ValueError(msg)
    return key


def _able_to_seal(secret: SecretStr) -> SecretStr:
    if _REMARK.search(_filled(secret).get_secret_value()):  # not every reader of such files takes it away
        msg = "must be without a remark behind it"
        raise ValueError(msg)
    return secret


def _able_to_sign(secret: SecretStr) -> SecretStr:
    text = _filled(secret).get_secret_value()
    if text.startswith("whsec_") and not _is_base64(text.removeprefix("whsec_")):
        msg = "must be base64 behind whsec_"
        raise ValueError(msg)
    return secret


def _naming_a_database(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    scheme, _, rest = text.partition("://")
    if scheme not in {"sqlite", "postgresql", "postgres"}:
        msg = "must begin with postgresql:// or sqlite:///"
        raise ValueError(msg)
    if scheme == "sqlite" and not (rest.startswith("/") and rest.strip("/")):
        msg = "must name a file: sqlite:////absolute/path or sqlite:///relative/path"
        raise ValueError(msg)
    try:
        urlsplit(text).port  # noqa: B018 -- reading it is the check
    except ValueError:
        msg = "must have a port from 1 to 65535, and %40, %3A, %2F for `@`, `:`, `/` in a password"
        raise ValueError(msg) from None
    return url


def _address_alone(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.username is not None or url.password is not None:
        msg = "must be without a user and a password"
        raise ValueError(msg)
    if url.query is not None or url.fragment is not None:
        msg = "must be without anything behind ? or #"
        raise ValueError(msg)
    return url


def _naming_a_host(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if not _HOST_NAME.fullmatch(text):
            msg = "must be an IP address or the name of a host"
            raise ValueError(msg) from None
    return text


def is_short(key: object, least: int) -> bool:
    """Tell whether a key that is given has fewer characters than it should."""
    return isinstance(key, SecretStr) and len(key.get_secret_value()) < least


def networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Return the addresses and networks that a setting lists; raise ValueError."""
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def _listing_networks(text: str) -> str:
    try:
        networks(text)
    except ValueError:
        msg = "must be addresses or networks with commas between, such as 127.0.0.1, 10.0.0.0/8"
        raise ValueError(msg) from None
    return text


def _is_base64(text: str) -> bool:
    """Tell whether a text is base64, padded or not."""
    bare = text.rstrip("=")
    try:
        return bool(base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True))
    except binascii.Error:
        return False


BaseUrl: TypeAlias = Annotated[AnyHttpUrl, AfterValidator(_address_alone)]  # paths are put behind it
HostName: TypeAlias = Annotated[str, AfterValidator(_naming_a_host)]
SendableKey: TypeAlias = Annotated[SecretStr, AfterValidator(_sendable)]  # goes into an HTTP header
SealingKey: TypeAlias = Annotated[SecretStr, AfterValidator(_able_to_seal)]
SigningSecret: TypeAlias = Annotated[SecretStr, AfterValidator(_able_to_sign)]
NetworkList: TypeAlias = Annotated[str, AfterValidator(_listing_networks)]
DatabaseUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_naming_a_database)]
