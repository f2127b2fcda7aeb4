"""Settings: the only reader of the environment (and of `.env` in the working directory).

Read once at start and validated as a whole: every wrong value is reported together with its variable, what
was seen and what is allowed. Parts get small values made from these settings, never the settings themselves.
The table in docs/configuration.md is generated from the fields below and those of settings_fleet.py.
"""

import ipaddress
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import AnyHttpUrl, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ostler.settings_fleet import FleetSettings
from ostler.settings_kinds import (
    BaseUrl,
    DatabaseUrl,
    HostName,
    NetworkList,
    SealingKey,
    SendableKey,
    SigningSecret,
    is_short,
)
from ostler.settings_report import SettingsError, WrongSetting, unreadable_file, wrong_lines, wrong_settings

Switch = Literal["on", "off"]
ENV_FILE = Path(".env")


_KEYS = {"OSTLER_ADMIN_KEY": "admin_key", "OSTLER_SECRET_KEY": "secret_key"}
_LEAST_KEY = 8  # characters, where others can try them


class Settings(FleetSettings, BaseSettings):
    """Everything that can be set from outside; a field's alias is the variable's name."""

    model_config = SettingsConfigDict(
        env_file=ENV_FILE,
        env_file_encoding="utf-8",
        extra="ignore",
        env_ignore_empty=True,
        frozen=True,
        str_strip_whitespace=True,
    )

    # The server
    port: int = Field(3000, alias="PORT", ge=0, le=65_535, description="port to listen on; 0 = any free one")
    public_url: BaseUrl | None = Field(
        None, alias="OSTLER_PUBLIC_URL", description="how browsers reach Ostler, when behind a proxy"
    )
    auth: Switch = Field("on", alias="OSTLER_AUTH", description="`off` only on loopback: no key is asked for")
    admin_key: SendableKey | None = Field(
        None,
        alias="OSTLER_ADMIN_KEY",
        description="key of the administrator; else made once, kept in the data directory",
    )
    secret_key: SealingKey | None = Field(
        None,
        alias="OSTLER_SECRET_KEY",
        description="encrypts secrets at rest; else made once, kept in the data directory",
    )
    former_secret_keys: SecretStr | None = Field(
        None,
        alias="OSTLER_SECRET_KEY_PREVIOUS",
        description="former secret keys, of any length, commas between, until `ostler doctor` says otherwise",
    )
    # behind the keys, because what it allows depends on them
    host: HostName = Field("127.0.0.1", alias="HOST", min_length=1, description="address to listen on")
    api_rate_limit: Switch = Field("on", alias="OSTLER_API_RATE_LIMIT", description="limit requests per key")
    rate_limit_window_ms: int = Field(
        60_000, alias="RATE_LIMIT_WINDOW_MS", ge=100, le=3_600_000, description="window of the limit per key"
    )
    rate_limit_max_requests: int = Field(
        600, alias="RATE_LIMIT_MAX_REQUESTS", ge=1, le=10_000_000, description="requests per key in a window"
    )
    trusted_proxies: NetworkList = Field(
        "",
        alias="OSTLER_TRUSTED_PROXIES",
        description="addresses or networks, with commas between, whose `X-Forwarded-For` is believed",
    )
    drain_s: float = Field(0, alias="OSTLER_DRAIN_SECONDS", ge=0, le=300, description="a stop waits so long")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", alias="LOG_LEVEL", description="least grave entries that are logged"
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", alias="OSTLER_LOG_FORMAT", description="`auto`: console on a terminal, JSON otherwise"
    )

    # Data and caches
    data_dir: Path | None = Field(
        None,
        alias="OSTLER_DATA_DIR",
        description="default `$XDG_DATA_HOME/ostler` or `~/.local/share/ostler`",
    )
    xdg_data_home: Path | None = Field(None, alias="XDG_DATA_HOME", exclude=True)
    database_url: DatabaseUrl | None = Field(
        None,
        alias="OSTLER_DATABASE_URL",
        description="`postgresql://…`; default: SQLite in the data directory",
    )
    install_id: str | None = Field(
        None,
        alias="OSTLER_INSTALL_ID",
        pattern=r"^[a-z2-7]{4,16}$",
        description="marks our instances in the cloud's console; else made once and kept in the database",
    )
    audit_days: int = Field(
        400, alias="OSTLER_AUDIT_DAYS", ge=1, le=3650, description="so long lines of the audit log are kept"
    )
    products_cache_s: int = Field(
        300, alias="CACHE_TIMEOUT", ge=1, le=86_400, description="life of the products cache"
    )
    comprehensive_cache_s: int = Field(
        30, alias="COMPREHENSIVE_CACHE_TTL", ge=0, le=3600, description="life of the merged list"
    )

    # Webhooks
    webhook_url: AnyHttpUrl | None = Field(
        None, alias="WEBHOOK_URL", description="default receiver of events"
    )
    webhook_secret: SigningSecret | None = Field(
        None, alias="WEBHOOK_SECRET", description="signs the webhooks that have no secret of their own"
    )
    webhook_timeout_ms: int = Field(
        10_000, alias="WEBHOOK_TIMEOUT", ge=100, le=120_000, description="one delivery attempt"
    )
    webhook_allow_private: bool = Field(
        default=False,
        alias="OSTLER_WEBHOOK_ALLOW_PRIVATE",
        description="receivers in private networks are allowed",
    )
    otlp_endpoint: AnyHttpUrl | None = Field(
        None,
        alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="collector for traces; none are made without it",
    )

    @field_validator("log_level", "auth", "api_rate_limit", "log_format", mode="before")
    @classmethod
    def _in_lower_case(cls, value: object) -> object:
        lowered = value.strip().lower() if isinstance(value, str) else value
        return "warning" if lowered == "warn" else lowered

    @field_validator("host")
    @classmethod
    def _is_safe_to_expose(cls, value: str, info: ValidationInfo[None]) -> str:
        if is_loopback(value):
            return value
        # a wrong one is not there, and told by itself
        keys = {variable: info.data[field] for variable, field in _KEYS.items() if field in info.data}
        missing = [variable for variable, key in keys.items() if key is None]
        if info.data.get("auth") == "off":
            missing.append("OSTLER_AUTH=on")
        if missing:
            msg = f"to listen beyond loopback, set {', '.join(missing)}"
            raise ValueError(msg)
        short = [variable for variable, key in keys.items() if is_short(key, _LEAST_KEY)]
        if short:
            msg = f"to listen beyond loopback, let {', '.join(short)} have at least {_LEAST_KEY} characters"
            raise ValueError(msg)
        return value

    @property
    def is_simulated(self) -> bool:
        """Tell whether the cloud is the simulated one: asked for, or for want of a key."""
        return self.simulate or self.novita_api_key is None

    @property
    def directory(self) -> Path:
        """The directory for the database, the generated keys and the simulator's state."""
        if self.data_dir is not None:
            return self.data_dir.expanduser()
        return (self.xdg_data_home or Path("~/.local/share").expanduser()) / "ostler"


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Given(BaseSettings):
    """What is given, right or wrong, of what some commands demand."""

    model_config = Settings.model_config
    novita_api_key: SecretStr | None = Field(None, alias="NOVITA_API_KEY")
    simulate: bool | str = Field(default=False, alias="OSTLER_SIMULATE")
    database_url: SecretStr | None = Field(None, alias="OSTLER_DATABASE_URL")


Demand = Callable[[Given], WrongSetting | None]


def load_settings(*demands: Demand) -> Settings:
    """Return the settings of this process, or raise one SettingsError that lists all that is wrong.

    A demand is what the command that is run cannot do without.
    """
    wrong: list[WrongSetting] = []
    logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # the lines it warns of are told with all else
    try:
        wrong += wrong_lines(ENV_FILE)
        wrong += [unmet for demand in demands if (unmet := demand(Given())) is not None]
        settings = Settings()
    except ValidationError as error:
        raise SettingsError([*wrong, *wrong_settings(error, dict(Settings.model_fields))]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([unreadable_file(error)]) from error
    if wrong:
        raise SettingsError(wrong)
    return settings
