"""How the controls show money: the ledger of every instance and storage that was ever there, and wallets.

Amounts are integers of 1/100000 USD, and beside them in dollars as text.
"""

from decimal import Decimal

from ostler.simulator.money import UNITS_PER_USD, LedgerEntry, Wallet
from ostler.simulator.world import STORAGE_LEDGER, World


def usd(units: int) -> str:
    """Return an amount of 1/100000 USD in dollars."""
    return f"{(Decimal(units) / UNITS_PER_USD).normalize():f}"


def ledger_json(world: World, account: str) -> dict[str, object]:
    """Return what everything cost, oldest first; of one account, or of all if it is empty."""
    entries = [entry for entry in world.ledger.values() if account in {"", entry.account}]
    storages = [entry for entry in world.rows(STORAGE_LEDGER).values() if account in {"", entry.account}]
    cost = sum(entry.cost_at(world.now) for entry in (*entries, *storages))
    return {
        "now": world.now,
        "instances": [_instance_json(world, entry) for entry in entries],
        "storages": [_entry_json(world, entry) for entry in storages],
        "alive": sum(entry.removed_at == 0 for entry in entries),
        "cost": cost,
        "costUsd": usd(cost),
        "wallets": [
            wallet_json(world, wallet) for wallet in world.wallets.values() if account in {"", wallet.account}
        ],
    }


def _instance_json(world: World, entry: LedgerEntry) -> dict[str, object]:
    """Return one instance's line; `cost` is in 1/100000 USD, `seconds` are those billed with a GPU."""
    instance = world.instances.get(entry.id)
    return {
        **_entry_json(world, entry),
        "productId": entry.product_id,
        "billingMode": entry.mode,
        "status": "removed" if instance is None else instance.status,
        "seconds": entry.seconds_at(world.now),
    }


def _entry_json(world: World, entry: LedgerEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "account": entry.account,
        "name": entry.name,
        "alive": entry.removed_at == 0,
        "createdAt": entry.created_at,
        "removedAt": entry.removed_at,
        "cost": entry.cost_at(world.now),
        "costUsd": usd(entry.cost_at(world.now)),
    }


def wallet_json(world: World, wallet: Wallet) -> dict[str, object]:
    """Return what an account has left and how fast it goes."""
    return {
        "account": wallet.account,
        "balance": wallet.balance(world.now),
        "balanceUsd": usd(wallet.balance(world.now)),
        "ratePerDay": wallet.rate,
        "isFrozen": wallet.is_frozen,
    }
