"""Settings: all that is wrong is told at once, secrets are not, and unsafe combinations are refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.settings import Settings, load_settings
from ostler.settings_report import SettingsError, allowed_values


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def wrong_variables(monkeypatch: pytest.MonkeyPatch, **values: str) -> dict[str, str]:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    return {each.variable: str(each) for each in caught.value.wrong}


def test_without_an_environment_everything_has_its_documented_default() -> None:
    settings = load_settings()
    assert (settings.port, settings.host, settings.default_region) == (3000, "127.0.0.1", "CN-HK-01")
    assert (settings.poll_interval_s, settings.max_retry_attempts, settings.cloud_calls_per_minute) == (
        30,
        3,
        100,
    )
    assert settings.is_simulated


def test_every_wrong_variable_is_told_with_its_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = wrong_variables(
        monkeypatch,
        PORT="eighty",
        MAX_RETRY_ATTEMPTS="11",
        LOG_LEVEL="loud",
        NOVITA_API_BASE_URL="novita",
        MIGRATION_ENABLED="perhaps",
    )
    assert told == {
        "PORT": "PORT=eighty: must be a whole number from 0 to 65535",
        "MAX_RETRY_ATTEMPTS": "MAX_RETRY_ATTEMPTS=11: must be a whole number from 1 to 10",
        "LOG_LEVEL": "LOG_LEVEL=loud: must be one of debug, info, warning, error",
        "NOVITA_API_BASE_URL": "NOVITA_API_BASE_URL=novita: must be an http:// or https:// URL",
        "MIGRATION_ENABLED": "MIGRATION_ENABLED=perhaps: must be true or false",
    }


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("ftp://me:canary@hooks.example/a", "ftp://***@hooks.example/a"),
        ("ftp://canary@hooks.example/a?token=canary", "ftp://***@hooks.example/a?***"),
        ("me:canary/x@hooks.example", "***@hooks.example"),
        ("hooks.example/?canary@home", "hooks.example/?***"),
        ("https://me:canary@hooks.example:port/", "https://***@hooks.example:port/"),
        ("http://", "http://"),
    ],
)
def test_a_wrong_url_is_told_without_what_may_be_secret_in_it(
    monkeypatch: pytest.MonkeyPatch, value: str, told: str
) -> None:
    urls = ("WEBHOOK_URL", "NOVITA_API_BASE_URL", "OSTLER_PUBLIC_URL", "OTEL_EXPORTER_OTLP_ENDPOINT")
    said = wrong_variables(monkeypatch, **dict.fromkeys(urls, value))
    assert said == {each: f"{each}={told}: must be an http:// or https:// URL" for each in urls}


def test_a_wrong_database_url_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    told = wrong_variables(monkeypatch, OSTLER_DATABASE_URL="mysql://me:canary-password@db/ostler")
    assert "canary" not in told["OSTLER_DATABASE_URL"]
    assert "postgresql://" in told["OSTLER_DATABASE_URL"]


@pytest.mark.parametrize(
    "url",
    ["mysql://u:canary@h/d", "postgresql://u:canary@h:port/d", "postgresql://u:can/ary@h/d", "sqlite://"],
)
def test_an_address_that_is_no_database_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = wrong_variables(monkeypatch, OSTLER_DATABASE_URL=url)
    assert "canary" not in told["OSTLER_DATABASE_URL"]
    assert "must" in told["OSTLER_DATABASE_URL"]


@pytest.mark.parametrize("key", ["two words", "schl\u00fcssel", "line\nbreak"])
@pytest.mark.parametrize("variable", ["NOVITA_API_KEY", "OSTLER_ADMIN_KEY"])
def test_a_key_that_no_header_can_carry_is_refused(
    variable: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = wrong_variables(monkeypatch, **{variable: key})
    assert key not in told[variable]
    assert "printable ASCII" in told[variable]


@pytest.mark.parametrize("variable", ["OSTLER_ADMIN_KEY", "OSTLER_SECRET_KEY"])
def test_a_key_that_could_be_guessed_opens_nothing_to_others(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"OSTLER_ADMIN_KEY": "a-key-that-was-chosen", "OSTLER_SECRET_KEY": "a-secret-that-was-chosen"}
    told = wrong_variables(monkeypatch, HOST="0.0.0.0", **(both | {variable: "7-chars"}))  # noqa: S104 -- refused
    rule = f"to listen beyond loopback, let {variable} have at least 8 characters"
    assert told == {"HOST": f"HOST=0.0.0.0: {rule}"}


def test_on_this_machine_alone_a_key_may_be_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_ADMIN_KEY", "k")
    monkeypatch.setenv("OSTLER_SECRET_KEY", "two words")
    assert load_settings().host == "127.0.0.1"


def test_a_secret_key_with_a_remark_behind_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = wrong_variables(monkeypatch, OSTLER_SECRET_KEY="abc   # keep a copy")
    assert told == {"OSTLER_SECRET_KEY": "OSTLER_SECRET_KEY=***: must be without a remark behind it"}


@pytest.mark.parametrize(
    "variable", ["NOVITA_API_KEY", "WEBHOOK_SECRET", "OSTLER_ADMIN_KEY", "OSTLER_SECRET_KEY"]
)
def test_a_secret_of_white_space_alone_is_none(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = wrong_variables(monkeypatch, **{variable: " \t"})
    assert told == {variable: f"{variable}=***: must be a text that is not empty"}


def test_a_former_key_may_be_as_short_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_SECRET_KEY", "a-secret-that-was-chosen")
    monkeypatch.setenv("OSTLER_SECRET_KEY_PREVIOUS", "k")
    former = load_settings().former_secret_keys
    assert former is not None
    assert former.get_secret_value() == "k"


@pytest.mark.parametrize("variable", ["OSTLER_PUBLIC_URL", "NOVITA_API_BASE_URL"])
@pytest.mark.parametrize("rest", ["me:canary@host/", "host/?token=canary", "host/#canary"])
def test_an_address_that_paths_are_put_behind_is_an_address_alone(
    variable: str, rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = wrong_variables(monkeypatch, **{variable: f"https://{rest}"})
    assert "must be without" in told[variable]
    assert "canary@" not in told[variable]


@pytest.mark.parametrize("host", ["not a host", "-h", "127.0.0.1:3000", "http://localhost"])
def test_what_can_be_no_host_is_told_as_such_and_not_for_want_of_keys(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wrong_variables(monkeypatch, HOST=host) == {
        "HOST": f"HOST={host}: must be an IP address or the name of a host"
    }


def test_a_file_of_settings_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"PORT=\xff\xfe")
    with pytest.raises(SettingsError, match=r"\.env=.*readable text"):
        load_settings()


def test_what_is_wrong_in_the_file_is_told_beside_what_is_wrong_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("no assignment\nPORT=x\n")
    assert wrong_variables(monkeypatch, MAX_RETRY_ATTEMPTS="0").keys() == {
        ".env",
        "PORT",
        "MAX_RETRY_ATTEMPTS",
    }


@pytest.mark.parametrize("variable", ["NOVITA_API_BASE_URL", "WEBHOOK_URL", "OSTLER_PUBLIC_URL"])
def test_a_wrong_address_is_told_without_its_password(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = wrong_variables(monkeypatch, **{variable: "ftp://me:cana/ry@somewhere"})
    assert told[variable].startswith(f"{variable}=ftp://***@somewhere: must be")


def test_a_wrong_value_moves_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in wrong_variables(monkeypatch, PORT="\x1b[2J")["PORT"]


def test_space_around_a_word_does_not_count_and_space_alone_is_no_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEFAULT_REGION", " US-CA-06 ")
    assert load_settings().default_region == "US-CA-06"
    told = wrong_variables(monkeypatch, DEFAULT_REGION="  ", HOST=" ")
    assert {each.rpartition(": ")[2] for each in told.values()} == {"must be a text that is not empty"}


def test_listening_beyond_loopback_wants_keys_that_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    told = wrong_variables(monkeypatch, HOST="0.0.0.0", OSTLER_AUTH="off")  # noqa: S104 -- must be refused
    for missing in ("OSTLER_ADMIN_KEY", "OSTLER_SECRET_KEY", "OSTLER_AUTH=on"):
        assert missing in told["HOST"]


def test_listening_beyond_loopback_is_possible_with_both_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")  # noqa: S104 -- allowed with keys
    monkeypatch.setenv("OSTLER_ADMIN_KEY", "a-key-that-was-chosen")
    monkeypatch.setenv("OSTLER_SECRET_KEY", "a-secret-that-was-chosen")
    assert load_settings().host == "0.0.0.0"  # noqa: S104 -- allowed with keys


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_loopback_hosts_want_no_keys(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", host)
    assert load_settings().host == host


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOVITA_API_KEY", "")
    monkeypatch.setenv("PORT", "")
    assert load_settings().is_simulated
    assert load_settings().port == 3000


def test_the_file_in_the_working_directory_is_read_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("PORT=4000\nNOVITA_API_KEY=sk_from_file\nSOMETHING_ELSE=1\n")
    monkeypatch.setenv("PORT", "5000")
    settings = load_settings()
    assert settings.port == 5000
    assert settings.novita_api_key is not None
    assert not settings.is_simulated


@given(port=st.integers())
def test_a_port_is_taken_exactly_if_it_is_one(port: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PORT", str(port))
        if 0 <= port <= 65_535:
            assert load_settings().port == port
        else:
            with pytest.raises(SettingsError, match="from 0 to 65535"):
                load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("OSTLER_API_RATE_LIMIT", "maybe", "one of on, off"),
        ("RATE_LIMIT_WINDOW_MS", "99", "from 100 to 3600000"),
        ("RATE_LIMIT_MAX_REQUESTS", "0", "from 1 to 10000000"),
        ("OSTLER_TRUSTED_PROXIES", "127.0.0.1, proxy.internal", "addresses or networks"),
        ("OSTLER_TRUSTED_PROXIES", "10.0.0.1/8", "addresses or networks"),
    ],
)
def test_limits_and_whom_to_believe_are_checked(
    variable: str, value: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert allowed in wrong_variables(monkeypatch, **{variable: value})[variable]


def test_every_variable_can_be_explained() -> None:
    for name, field in Settings.model_fields.items():
        assert field.alias, name
        assert allowed_values(field), name
        assert field.exclude or field.description, name
