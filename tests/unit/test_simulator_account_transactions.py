"""The simulated cloud's wallet transactions: the payment in, and what was spent on each day.

They are derived from the ledger and must agree with it.
"""

import pytest

from tests.support.simulated_account import BASIC, Cloud, a_running_instance

DAY = 86_400


def test_transactions_are_the_payment_in_and_each_day_that_is_over() -> None:
    cloud = Cloud()
    a_running_instance(cloud)
    cloud.pass_time(2 * DAY)

    answer = cloud.get(f"{BASIC}/bill/transaction", {"pageNo": "1", "pageSize": "10"})

    kinds = [row["transactionType"] for row in answer.rows()]
    assert kinds == ["consume", "consume", "recharge"]
    balances = [int(str(row["walletBalance"])) for row in answer.rows()]
    assert balances == sorted(balances)
    assert answer.rows()[-1]["transactionAmount"] == answer.rows()[-1]["walletBalance"] == "10000000"
    assert answer["total"] == 3


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"transactionType": "recharge"}, 1),
        ({"transactionType": "refund"}, 0),
        ({"transactionTimeEnd": "1785780949"}, 0),
        ({"transactionTimeEnd": "1785780950"}, 1),
        ({"transactionTimeStart": "1785780951"}, 0),
        ({"serialNumber": "none"}, 0),
    ],
)
def test_transactions_are_filtered(query: dict[str, str], found: int) -> None:
    answer = Cloud().get(f"{BASIC}/bill/transaction", {"pageNo": "1", "pageSize": "10", **query})

    assert answer["total"] == found


@pytest.mark.parametrize(
    "query", [{}, {"pageNo": "1"}, {"pageSize": "10"}, {"pageNo": "0", "pageSize": "10"}]
)
def test_transactions_want_their_page_parameters(query: dict[str, str]) -> None:
    assert Cloud().get(f"{BASIC}/bill/transaction", query).status == 400


def test_a_transaction_is_found_by_its_serial_number() -> None:
    cloud = Cloud()
    a_running_instance(cloud)
    cloud.pass_time(2 * DAY)
    path, page = f"{BASIC}/bill/transaction", {"pageNo": "1", "pageSize": "10"}
    numbers = [str(row["serialNumber"]) for row in cloud.get(path, page).rows()]

    found = [cloud.get(path, {**page, "serialNumber": number})["total"] for number in numbers]

    assert found == [1, 1, 1]
