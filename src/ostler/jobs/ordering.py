"""Writing the order for a create: from what was asked for and the template, with the secrets opened for
this once.

Registry credentials are named by their id; only where the cloud refuses that are they read, by
`attempting.py`. What makes an order impossible is a failure of the create, with the reason.
"""

from dataclasses import dataclass

from ostler.cloud.catalogue import Catalogue
from ostler.cloud.upstream import CreateOrder
from ostler.domain.attempts import Attempt
from ostler.domain.catalogue import Template
from ostler.domain.failures import Failure, FailureCode
from ostler.engine.kind import JobContext
from ostler.jobs.workshop import Workshop
from ostler.store.instances import InstanceRow, sealed_envs
from ostler.usecases.create import ENVS
from ostler.usecases.planning import Prospect


class OrderImpossible(Exception):  # noqa: N818 -- carries the failure of the create; nothing of ours failed
    """What was asked for cannot be ordered any more."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Orders:
    """Writes orders."""

    shop: Workshop
    catalogue: Catalogue

    async def write(
        self, context: JobContext, row: InstanceRow, attempt: Attempt, prospect: Prospect
    ) -> CreateOrder:
        """Return what to send for an attempt; raise OrderImpossible."""
        template, spec = prospect.template, row.instance.spec
        await self._require_registry_auth(template)
        return CreateOrder(
            name=attempt.upstream_name,
            product_id=attempt.offer.product_id,
            region_id=attempt.offer.region_id,
            gpus=spec.gpus,
            rootfs_gb=prospect.rootfs_gb,
            image=template.image,
            billing_mode=attempt.offer.billing_mode,
            months=spec.months,
            ports=template.ports,
            envs={**template.envs, **await self._envs(context)},
            command=template.start_command,
            entrypoint=template.entrypoint,
            registry_auth_id=template.registry_auth_id,
            min_cuda_version=template.min_cuda_version,
        )

    async def _envs(self, context: JobContext) -> dict[str, str]:
        sealed = await context.database.read(lambda connection: sealed_envs(connection, context.subject))
        if sealed is None:
            return {}
        return dict(ENVS.validate_json(self.shop.observation.sealer.open(sealed)))

    async def _require_registry_auth(self, template: Template) -> None:
        auth_id = template.registry_auth_id
        if not auth_id or await self.catalogue.registry_auth(auth_id) is not None:
            return
        message = f"template {template.id} wants registry auth {auth_id!r}, which the account does not have"
        failure = Failure(FailureCode.REGISTRY_AUTH_FAILED, message, self.shop.clock.now())
        raise OrderImpossible(failure)
