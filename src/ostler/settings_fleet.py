"""The settings about the fleet: the cloud, placement, watching, readiness and spot migration.

A plain model, which reads nothing: `Settings` in settings.py takes it in and reads the environment.
"""

from pydantic import AnyHttpUrl, BaseModel, Field

from ostler.settings_kinds import BaseUrl, SendableKey


class FleetSettings(BaseModel):
    """What is set about rented instances and the way to their cloud; a field's alias is its variable."""

    # The cloud
    novita_api_key: SendableKey | None = Field(
        None, alias="NOVITA_API_KEY", description="the key of your Novita account"
    )
    novita_api_base_url: BaseUrl = Field(
        AnyHttpUrl("https://api.novita.ai"),
        alias="NOVITA_API_BASE_URL",
        description="root of the cloud's API",
    )
    simulate: bool = Field(
        default=False,
        alias="OSTLER_SIMULATE",
        description="use the built-in simulated cloud even when a key is set",
    )
    simulator_port: int = Field(
        3100,
        alias="OSTLER_SIMULATOR_PORT",
        ge=0,
        le=65_535,
        description="of the simulated cloud in `ostler up`",
    )
    simulator_speed: float = Field(
        1,
        alias="OSTLER_SIMULATOR_SPEED",
        ge=0,
        le=100_000,
        description="its clock, as a multiple of real time",
    )
    request_timeout_ms: int = Field(
        30_000, alias="REQUEST_TIMEOUT", ge=100, le=600_000, description="per cloud call"
    )
    max_retry_attempts: int = Field(
        3, alias="MAX_RETRY_ATTEMPTS", ge=1, le=10, description="tries of a safe cloud call or bounded job"
    )
    cloud_calls_per_minute: int = Field(
        100,
        alias="OSTLER_RATE_LIMIT_PER_MINUTE",
        ge=0,
        le=1_000_000,
        description="calls to the cloud; 0 = no limit",
    )
    max_cloud_calls: int = Field(
        32, alias="OSTLER_MAX_CLOUD_CALLS", ge=1, le=1000, description="calls to the cloud in flight at once"
    )
    breaker_recovery_s: float = Field(
        60,
        alias="OSTLER_BREAKER_RECOVERY_SECONDS",
        ge=1,
        le=3600,
        description="open breaker waits before its probe",
    )
    create_settle_s: int = Field(
        30,
        alias="OSTLER_CREATE_SETTLE_SECONDS",
        ge=1,
        le=3600,
        description="an unanswered create may surface so late",
    )

    # Placement and watching
    default_region: str = Field(
        "CN-HK-01",
        alias="DEFAULT_REGION",
        min_length=1,
        description="region tried first, by code, name or id",
    )
    poll_interval_s: int = Field(
        30, alias="INSTANCE_POLL_INTERVAL", ge=10, le=300, description="between two passes of the watcher"
    )
    fast_poll_s: float = Field(
        3,
        alias="OSTLER_FAST_POLL_SECONDS",
        ge=0.1,
        le=60,
        description="between passes while anything changes",
    )
    startup_max_wait_ms: int = Field(
        600_000,
        alias="INSTANCE_STARTUP_MAX_WAIT_TIME",
        ge=1000,
        le=86_400_000,
        description="from placement to running",
    )
    max_concurrent_jobs: int = Field(
        10, alias="MAX_CONCURRENT_JOBS", ge=1, le=100, description="background jobs at once"
    )

    # Readiness
    health_check_timeout_ms: int = Field(
        10_000, alias="HEALTH_CHECK_TIMEOUT_MS", ge=100, le=300_000, description="one probe of one endpoint"
    )
    health_check_retry_attempts: int = Field(
        3, alias="HEALTH_CHECK_RETRY_ATTEMPTS", ge=1, le=100, description="probes of an endpoint in one round"
    )
    health_check_retry_delay_ms: int = Field(
        2000,
        alias="HEALTH_CHECK_RETRY_DELAY_MS",
        ge=10,
        le=300_000,
        description="first wait between two probes",
    )
    health_check_max_wait_ms: int = Field(
        300_000,
        alias="HEALTH_CHECK_MAX_WAIT_TIME_MS",
        ge=100,
        le=86_400_000,
        description="until all are healthy",
    )

    # Spot migration
    migration_enabled: bool = Field(
        default=True, alias="MIGRATION_ENABLED", description="move reclaimed instances"
    )
    migration_interval_minutes: int = Field(
        15, alias="MIGRATION_INTERVAL_MINUTES", ge=1, le=1440, description="between two scheduled scans"
    )
    migration_max_concurrent: int = Field(
        5, alias="MIGRATION_MAX_CONCURRENT", ge=1, le=100, description="migrations at once"
    )
    migration_dry_run: bool = Field(
        default=False, alias="MIGRATION_DRY_RUN", description="scan and report, move nothing"
    )
