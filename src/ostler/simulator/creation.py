"""Creating an instance: an order is screened, priced, placed where there is stock, and begins as `pending`.

An order is refused as a whole or accepted as a whole; nothing is taken before everything was looked at.
"""

from ostler.simulator import stockroom
from ostler.simulator.accounting import charge, open_account, price_of_months, require_balance
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.lifecycle import move
from ostler.simulator.market import Product
from ostler.simulator.order import Order
from ostler.simulator.refusal import Refusal, bad_parameter, missing, no_capacity, over_quota
from ostler.simulator.status import Status
from ostler.simulator.subscription import begin_term, unsupported_mode
from ostler.simulator.world import INSTANCES, World

SMALLEST_ROOTFS_GB = 10
_PROXY_PORTS = range(30_000, 40_000)


def create(world: World, order: Order) -> Instance:
    """Accept an order and return the new instance, or refuse it."""
    for screen in world.screens:
        order = screen(world, order)
    product = _product_of(world, order)
    _check_limits(world, order, product)
    cluster_id = _place(world, order)
    instance = _build(world, order, product, cluster_id)
    open_account(world, instance)
    stockroom.take(world, instance)
    admit(world, instance)
    world.hold_back(INSTANCES, instance.id, None)
    if order.mode is Mode.MONTHLY:
        begin_term(world, instance, order.months)
    instance.fate = world.next_fate("create")
    move(world, instance, Status.PENDING)
    return instance


def admit(world: World, instance: Instance) -> None:
    """Make an instance part of the world and of its account's fleet."""
    instance.number = world.next_number()
    world.put(INSTANCES, instance.id, instance)
    world.fleet(instance.account).add(instance)
    world.wallet(instance.account).instances_alive += 1
    charge(world, instance)


def _product_of(world: World, order: Order) -> Product:
    product = world.products.get(order.product_id)
    if product is None or product.kind != order.kind:
        raise missing(what="product")
    if not product.is_sold_under(order.mode):
        raise unsupported_mode()
    if order.rootfs_gb > product.max_rootfs_gb:
        raise bad_parameter(
            message=f"invalid rootfsSize: {order.rootfs_gb} is more than {product.max_rootfs_gb} GB"
        )
    return product


def _check_limits(world: World, order: Order, product: Product) -> None:
    price = price_of_months(product, order.gpu_num, order.months) if order.mode is Mode.MONTHLY else 1
    require_balance(world, order.account, price)
    wallet = world.wallet(order.account)
    if wallet.instances_alive >= wallet.instance_limit:
        raise over_quota(reason="CREATE_INSTANCE_LIMIT", limit=wallet.instance_limit)
    if product.kind == "gpu" and wallet.gpus_in_use + order.gpu_num > wallet.gpu_limit:
        raise over_quota(reason="CREATE_GPU_NUM_LIMIT", limit=wallet.gpu_limit)


def _place(world: World, order: Order) -> str:
    for cluster_id in order.cluster_ids:
        _check_cluster(world, order, cluster_id)
    candidates = [
        cluster_id
        for cluster_id in order.cluster_ids or tuple(world.clusters)
        if stockroom.free(world, order.product_id, cluster_id, order.mode) >= order.gpu_num
        and _is_fit(world, order, cluster_id)
    ]
    if not candidates:
        raise no_capacity()
    return candidates[0] if order.cluster_ids else world.random.choice(candidates)


def _is_fit(world: World, order: Order, cluster_id: str) -> bool:
    cluster = world.clusters[cluster_id]
    return (
        (cluster.has_network_storage or not order.volumes)
        and (cluster.has_private_networks or not order.network_id)
        and _version(order.min_cuda_version) <= _version(cluster.max_cuda_version)
    )


def _check_cluster(world: World, order: Order, cluster_id: str) -> None:
    cluster = world.clusters.get(cluster_id)
    if cluster is None:
        raise bad_parameter(message=f"invalid clusterId: {cluster_id!r} is not a cluster")
    if order.volumes and not cluster.has_network_storage:
        raise Refusal(
            400,
            reason="CUR_CLUSTER_NETWORK_STORAGE_NOT_SUPPORT",
            message="the cluster does not support network storage",
        )
    if _version(order.min_cuda_version) > _version(cluster.max_cuda_version):
        raise Refusal(400, reason="CUDA_VERSION_INCOMPATIBLE", message="cuda version incompatible")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _build(world: World, order: Order, product: Product, cluster_id: str) -> Instance:
    draw = world.random.choice
    return Instance(
        id=world.new_id("instance"),
        account=order.account,
        name=order.name,
        kind=order.kind,
        product_id=product.id,
        cluster_id=cluster_id,
        mode=order.mode,
        gpu_num=order.gpu_num,
        rootfs_gb=max(SMALLEST_ROOTFS_GB, order.rootfs_gb),
        image_url=order.image_url,
        created_at=world.now,
        price_per_hour=product.price_under(order.mode),
        image_auth_id=order.image_auth_id,
        command=order.command,
        entrypoint=order.entrypoint,
        envs=order.envs,
        ports=order.ports,
        tools=order.tools,
        volumes=order.volumes,
        network_id=order.network_id,
        network_ip=order.network_ip,
        template_id=order.template_id,
        min_cuda_version=order.min_cuda_version,
        auto_renew=order.auto_renew,
        auto_renew_months=order.auto_renew_months,
        auto_migrate=order.auto_migrate,
        auto_migrate_system_disk=order.auto_migrate_system_disk,
        gpu_ids=world.some_gpus(order.gpu_num) if product.kind == "gpu" else (),
        ssh_port=draw(_PROXY_PORTS),
        app=world.default_app,
    )
