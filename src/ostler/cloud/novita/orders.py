"""Writing what the cloud reads: the body of a create.

And telling what of it is secret: the cloud may quote it in a refusal, and nobody should read it there.
"""

from collections.abc import Mapping, Sequence

from ostler.cloud.upstream import CreateOrder
from ostler.domain.catalogue import BillingMode


def create_body(order: CreateOrder) -> Mapping[str, object]:
    """Return the body of a create; optional fields are left out where they say nothing."""
    body: dict[str, object] = {
        "kind": "gpu",
        "name": order.name,
        "productId": order.product_id,
        "clusterId": order.region_id,
        "gpuNum": order.gpus,
        "rootfsSize": order.rootfs_gb,
        "imageUrl": order.image,
        "billingMode": order.billing_mode.value,
        "ports": ", ".join(f"{port.number}/{port.protocol}" for port in order.ports),
        "envs": [
            {"key": key, "value": value} for key, value in order.envs.items()
        ],  # not `env`: it is dropped
    }
    optional = {
        "command": order.command,
        "entrypoint": order.entrypoint,
        "imageAuthId": order.registry_auth_id,
        "imageAuth": _image_auth(order),
        "minCudaVersion": order.min_cuda_version,
    }
    body |= {key: value for key, value in optional.items() if value}
    if order.billing_mode is BillingMode.MONTHLY:
        body |= {"month": order.months, "autoRenew": False}
    return body


def secrets_of(order: CreateOrder) -> Sequence[str]:
    """Return what the cloud might quote in a refusal and nobody should read."""
    credentials = () if order.credentials is None else (order.credentials.password.get_secret_value(),)
    return (*order.envs.values(), *credentials)


def _image_auth(order: CreateOrder) -> str:
    if order.credentials is None:
        return ""
    return f"{order.credentials.username}:{order.credentials.password.get_secret_value()}"
