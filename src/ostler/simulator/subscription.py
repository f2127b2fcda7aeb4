"""The *subscription*: whole months paid in advance, renewed by hand or by itself, and what ends them.

While a term runs, an instance cannot be deleted (`verbs.delete` sees to it). A change back to paying by the
second takes effect at the end of the term, since nothing is paid back.
"""

from ostler.simulator.accounting import charge, pay_in_advance
from ostler.simulator.durations import MONTH_S
from ostler.simulator.instance import NEVER, Instance, Mode, Timer
from ostler.simulator.refusal import Refusal
from ostler.simulator.world import INSTANCES, World


def unsupported_mode() -> Refusal:
    """Return the refusal of a billing mode that the product or the instance cannot have."""
    return Refusal(400, "UNSUPPORTED_BILLING_MODE", "unsupported billing mode")


def begin_term(world: World, instance: Instance, months: int) -> None:
    """Pay for months from now on, or from the end of what is paid already."""
    pay_in_advance(world, instance, months)
    instance.ends_at = max(world.now, instance.ends_at) + months * MONTH_S
    instance.timers[Timer.END_OF_TERM] = instance.ends_at
    world.touch(INSTANCES, instance.id)


def renew(world: World, instance: Instance, months: int) -> None:
    """Pay for more months."""
    if instance.mode is not Mode.MONTHLY:
        raise unsupported_mode()
    begin_term(world, instance, months)


def to_monthly(world: World, instance: Instance, months: int) -> None:
    """Go over from paying by the second to paying in advance."""
    product = world.products[instance.product_id]
    if instance.mode is not Mode.ON_DEMAND or not product.is_sold_under(Mode.MONTHLY):
        raise unsupported_mode()
    begin_term(world, instance, months)
    _change_mode(world, instance, Mode.MONTHLY)


def to_on_demand(world: World, instance: Instance) -> None:
    """Go over to paying by the second when the term ends; at once if it is over."""
    if instance.mode is not Mode.MONTHLY:
        raise unsupported_mode()
    instance.then_on_demand = True
    instance.auto_renew = False
    if instance.is_expired(world.now):
        goes_on(world, instance)
    world.touch(INSTANCES, instance.id)


def set_auto_renew(world: World, instance: Instance, *, on: bool, months: int) -> None:
    """Say whether the term is renewed by itself."""
    if instance.mode is not Mode.MONTHLY:
        raise unsupported_mode()
    instance.auto_renew = on
    instance.auto_renew_months = months if on else 0
    world.touch(INSTANCES, instance.id)


def goes_on(world: World, instance: Instance) -> bool:
    """End a term: renew it, or go over to the second, or tell that the instance has to stop."""
    if instance.then_on_demand:
        instance.then_on_demand = False
        instance.ends_at = NEVER
        _change_mode(world, instance, Mode.ON_DEMAND)
        return True
    if not instance.auto_renew:
        return False
    try:
        begin_term(world, instance, instance.auto_renew_months)
    except Refusal:
        return False  # the account cannot pay; the cloud does not ask twice
    return True


def _change_mode(world: World, instance: Instance, mode: Mode) -> None:
    before, instance.mode = instance.mode, mode
    world.fleet(instance.account).regroup(instance, "mode", before)
    instance.price_per_hour = world.products[instance.product_id].price_under(mode)
    charge(world, instance)
