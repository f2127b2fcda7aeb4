"""How the controls show money: the ledger of every instance that was ever there, and wallets.

Amounts are integers of 1/100000 USD, and beside them in dollars as text.
"""

from decimal import Decimal

from ostler.simulator.money import UNITS_PER_USD, LedgerEntry, Wallet
from ostler.simulator.world import World


def usd(units: int) -> str:
    """Return an amount of 1/100000 USD in dollars."""
    return f"{(Decimal(units) / UNITS_PER_USD).normalize():f}"


def ledger_json(world: World, account: str) -> dict[str, object]:
    """Return what every instance cost, oldest first; of one account, or of all if it is empty."""
    entries = [entry for entry in world.ledger.values() if account in {"", entry.account}]
    return {
        "now": world.now,
        "instances": [entry_json(world, entry) for entry in entries],
        "alive": sum(entry.removed_at == 0 for entry in entries),
        "cost": sum(entry.cost_at(world.now) for entry in entries),
        "costUsd": usd(sum(entry.cost_at(world.now) for entry in entries)),
        "wallets": [
            wallet_json(world, wallet) for wallet in world.wallets.values() if account in {"", wallet.account}
        ],
    }


def entry_json(world: World, entry: LedgerEntry) -> dict[str, object]:
    """Return one instance's line; `cost` is in 1/100000 USD, `seconds` are those billed with a GPU."""
    instance = world.instances.get(entry.id)
    return {
        "id": entry.id,
        "account": entry.account,
        "name": entry.name,
        "productId": entry.product_id,
        "billingMode": entry.mode,
        "status": "removed" if instance is None else instance.status,
        "alive": entry.removed_at == 0,
        "createdAt": entry.created_at,
        "removedAt": entry.removed_at,
        "seconds": entry.seconds_at(world.now),
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
