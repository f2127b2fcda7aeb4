"""How bills look in answers of the billing pages.

Strings throughout, amounts in 1/10000 USD, and every field of the documents, though most mean nothing here.
"""

from ostler.simulator.account.bills import (
    Cycle,
    Line,
    MonthlyBill,
    Transaction,
    cycle_start,
    month_of,
    next_cycle,
    shown,
)
from ostler.simulator.account.identity import user_number
from ostler.simulator.money import HOURS_PER_DAY, LedgerEntry


def line_json(line: Line) -> dict[str, object]:
    """Return what an instance or storage cost in a cycle, as the billing pages show it."""
    entry = line.entry
    rate = max(span.rate for span in entry.spans) // HOURS_PER_DAY
    return _bill_json(
        {
            "userId": user_number(entry.account),
            "startTime": str(line.start),
            "endTime": str(line.end),
            "productName": entry.product_name,
            "category": entry.category,
            "ownerID": entry.id,
            "billNum0": str(line.seconds),
            "basePrice0": shown(rate),
            "discountPrice0": shown(rate),
            "productId": entry.product_id,
        },
        line.units,
    )


def summary_json(account: str, cycle: Cycle, start: int, units: int) -> dict[str, object]:
    """Return what everything cost in a cycle, as the billing pages show it."""
    return _bill_json(
        {
            "userId": user_number(account),
            "startTime": str(start),
            "endTime": str(next_cycle(cycle, start) - 1),
            "productName": "gpu",
            "category": "summary",
            "ownerID": "",
            "billNum0": "0",
            "basePrice0": "0",
            "discountPrice0": "0",
            "productId": "",
        },
        units,
    )


def _bill_json(about: dict[str, object], units: int) -> dict[str, object]:
    return {
        **about,
        "billingMethod": "1",
        "billNum1": "0",
        "basePrice1": "0",
        "discountPrice1": "0",
        "amount": shown(units),
        "voucherAmount": "0",
        "payAmount": shown(units),
        "payAmountDisplay": shown(units),
        "pricePrecision": "10000",
    }


def term_json(entry: LedgerEntry) -> dict[str, object]:
    """Return a term that was paid in advance, as the billing pages show it."""
    bought_at = int(entry.created_at)
    return {
        **_bill_json(
            {
                "userId": user_number(entry.account),
                "startTime": str(bought_at),
                "endTime": str(next_cycle(Cycle.MONTH, cycle_start(Cycle.MONTH, bought_at)) - 1),
                "productName": entry.product_name,
                "category": "gpu",
                "ownerID": entry.id,
                "billNum0": "1",
                "basePrice0": shown(entry.prepaid),
                "discountPrice0": shown(entry.prepaid),
                "productId": entry.product_id,
            },
            entry.prepaid,
        ),
        "billingMethod": "2",
        "cycle": month_of(bought_at),
        "tradeMode": "monthly",
        "tradeType": "monthly_new_buy",
    }


def month_json(account: str, bill: MonthlyBill) -> dict[str, object]:
    """Return a month's bill, as the billing pages show it."""
    user = user_number(account)
    return {
        "billId": f"{user}-{bill.month}",
        "userId": user,
        "billingMonth": bill.month,
        "totalAmount": shown(bill.units),
        "originTotalAmount": shown(bill.units),
        "voucherPayAmount": "0",
        "cashPayAmount": shown(bill.units),
        "debtAmount": "0",
        "status": "paid" if bill.is_over else "pending",
        "invoiceUrl": "",
        "startTime": str(bill.start),
        "endTime": str(bill.end),
        "repaidAmount": "0",
    }


def transaction_json(account: str, transaction: Transaction) -> dict[str, object]:
    """Return money that went in or out, as the billing pages show it."""
    return {
        "customerId": user_number(account),
        "serialNumber": transaction.serial_number,
        "transactionTime": str(transaction.at),
        "transactionType": transaction.kind,
        "transactionChannel": "PublicRemittance",
        "transactionAmount": shown(transaction.units),
        "walletBalance": shown(transaction.balance),
        "note": "",
        "state": "success",
        "invoiceURL": "",
        "orderType": transaction.kind,
    }
