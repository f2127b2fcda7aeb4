"""Charging: what an instance costs in its status, or a storage by its size, in the ledger and the wallet.

Called after every change of one by whoever changed it; calling it twice does no harm. When a wallet
runs dry, the cloud stops everything that the account runs (`freeze` is handed in by `lifecycle.py`).
"""

from collections.abc import Callable
from dataclasses import replace

from ostler.simulator.account.network_storage import PRICE_PER_GB_DAY, NetworkStorage
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.market import Product
from ostler.simulator.money import HOURS_PER_DAY, Category, LedgerEntry, Span
from ostler.simulator.refusal import no_balance
from ostler.simulator.status import BILLED, DISKS_BILLED
from ostler.simulator.world import LEDGER, STORAGE_LEDGER, WALLETS, World

FREE_DISK_GB = 60
DISK_PRICE_PER_GB_DAY = 500  # 1/100000 USD: $0.005


def open_account(world: World, instance: Instance) -> LedgerEntry:
    """Begin the ledger of a new instance."""
    product = world.products.get(instance.product_id)
    entry = LedgerEntry(
        id=instance.id,
        account=instance.account,
        name=instance.name,
        product_id=instance.product_id,
        product_name=product.name if product is not None else "",
        mode=instance.mode,
        created_at=world.now,
    )
    return world.put(LEDGER, instance.id, entry)


def rate_of(instance: Instance) -> tuple[int, bool]:
    """Return what an instance costs per day now, and whether a GPU is among it."""
    disks = max(0, instance.rootfs_gb - FREE_DISK_GB) * DISK_PRICE_PER_GB_DAY
    if instance.is_disk_wiped or instance.status not in DISKS_BILLED:
        disks = 0
    if instance.status not in BILLED:
        return disks, False
    return disks + instance.price_per_hour * instance.gpu_num * HOURS_PER_DAY, True


def charge(world: World, instance: Instance) -> None:
    """Bring the ledger and the wallet in line with the instance's status."""
    rate, has_gpu = rate_of(instance)
    _go_on_at(world, world.ledger[instance.id], rate, has_gpu=has_gpu)
    world.touch(LEDGER, instance.id)


def charge_storage(world: World, storage: NetworkStorage, *, is_there: bool = True) -> None:
    """Bring the ledger and the wallet in line with a network storage's size, or its end."""
    entries = world.rows(STORAGE_LEDGER)
    if storage.id not in entries:
        entries[storage.id] = LedgerEntry(
            id=storage.id,
            account=storage.account,
            name=storage.name,
            product_id="",
            product_name="network storage",
            mode=Mode.ON_DEMAND,
            created_at=world.now,
            category=Category.STORAGE,
        )
    entry = entries[storage.id]
    entry.name = storage.name
    if not is_there:
        entry.removed_at = world.now
    _go_on_at(world, entry, storage.size_gb * PRICE_PER_GB_DAY if is_there else 0, has_gpu=False)
    world.touch(STORAGE_LEDGER, storage.id)


def _go_on_at(world: World, entry: LedgerEntry, rate: int, *, has_gpu: bool) -> None:
    span = entry.running
    if (span.rate, span.has_gpu) == (rate, has_gpu) if span is not None else rate == 0 and not has_gpu:
        return
    if span is not None:
        entry.spans[-1] = replace(span, end=world.now)
    if rate or has_gpu:
        entry.spans.append(Span(start=world.now, rate=rate, has_gpu=has_gpu))
    wallet = world.wallet(entry.account)
    wallet.change_rate(rate - (span.rate if span is not None else 0), world.now)
    world.touch(WALLETS, entry.account)


def pay_in_advance(world: World, instance: Instance, months: int) -> None:
    """Take the price of whole months from the wallet, or refuse."""
    price = price_of_months(world.products[instance.product_id], instance.gpu_num, months)
    require_balance(world, instance.account, price)
    wallet = world.wallet(instance.account)
    wallet.prepaid += price
    entry = world.ledger[instance.id]
    entry.prepaid += price
    entry.mode = Mode.MONTHLY
    world.touch(WALLETS, instance.account)
    world.touch(LEDGER, instance.id)


def price_of_months(product: Product, gpu_num: int, months: int) -> int:
    """Return the price of a term for so many GPUs; a term that is not offered costs as many single months."""
    prices = product.monthly_prices
    return prices.get(months, prices.get(1, 0) * months) * gpu_num


def require_balance(world: World, account: str, price: int = 1) -> None:
    """Refuse what the account cannot pay; what is paid by the second needs anything at all."""
    if world.wallet(account).balance(world.now) < price:
        raise no_balance()


def pay_in(world: World, account: str, units: int) -> None:
    """Add to an account's money; with something left, an account in arrears is free again."""
    wallet = world.wallet(account)
    wallet.credit += units
    if wallet.balance(world.now) > 0:
        wallet.is_frozen = False
    world.touch(WALLETS, account)


def set_balance(world: World, account: str, units: int) -> None:
    """Set what an account has left."""
    pay_in(world, account, units - world.wallet(account).balance(world.now))


def freeze_account(world: World, account: str, freeze: Callable[[World, Instance], None]) -> None:
    """Stop everything that an account runs, since nothing is left to pay for it."""
    wallet = world.wallet(account)
    wallet.is_frozen = True
    for instance in list(world.fleet(account)):
        freeze(world, instance)
    world.touch(WALLETS, account)
