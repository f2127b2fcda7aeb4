"""Money, exactly: an amount of US dollars held as an integer of 1/100000 USD.

The cloud prices in that unit, so no price is ever rounded on its way in. Floats never carry money;
`Decimal` is for showing it.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Self

UNITS_PER_USD = 100_000


@dataclass(frozen=True, slots=True, order=True)
class Usd:
    """An exact amount of US dollars."""

    units: int

    @classmethod
    def of(cls, amount: Decimal | str | int) -> Self:
        """Return the amount given in dollars; it must be whole in 1/100000 USD."""
        units = Decimal(amount) * UNITS_PER_USD
        if units != units.to_integral_value():
            msg = f"{amount} USD is finer than 1/{UNITS_PER_USD} USD"
            raise ValueError(msg)
        return cls(int(units))

    @property
    def amount(self) -> Decimal:
        """The amount in dollars."""
        return Decimal(self.units) / UNITS_PER_USD

    def __add__(self, other: "Usd") -> "Usd":
        return Usd(self.units + other.units)

    def __sub__(self, other: "Usd") -> "Usd":
        return Usd(self.units - other.units)

    def __mul__(self, count: int) -> "Usd":
        return Usd(self.units * count)

    def __str__(self) -> str:
        return f"${self.amount.normalize():f}"
