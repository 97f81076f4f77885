"""Token buckets: never more than the rate and one burst, and memory that stays bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.rates import AddressRates, Bucket, network_of


def test_a_bucket_starts_full_and_refills_at_its_rate() -> None:
    bucket = Bucket(rate=2.0, capacity=3.0, now=100.0)
    assert [bucket.allows(100.0) for _ in range(4)] == [True, True, True, False]
    assert not bucket.has(100.4)
    assert bucket.allows(100.5)
    assert not bucket.allows(100.5)


def test_a_charge_answers_how_long_the_debt_lasts() -> None:
    bucket = Bucket(rate=10.0, capacity=20.0, now=0.0)
    assert bucket.charge(20, 0.0) == 0.0
    assert bucket.charge(5, 0.0) == 0.5
    assert bucket.charge(0, 0.5) == 0.0


def test_a_clock_set_back_gives_nothing() -> None:
    bucket = Bucket(rate=1.0, capacity=1.0, now=100.0)
    assert bucket.allows(100.0)
    assert not bucket.allows(50.0)
    assert bucket.allows(51.0)


@given(
    st.floats(0.1, 100),
    st.floats(1, 50),
    st.lists(st.floats(0, 2), min_size=1, max_size=200),
)
def test_no_more_passes_than_rate_and_burst_allow(
    rate: float, capacity: float, gaps: list[float]
) -> None:
    bucket = Bucket(rate, capacity, 0.0)
    now, passed = 0.0, 0
    for gap in gaps:
        now += gap
        passed += bucket.allows(now)
    assert passed <= capacity + rate * now + 1e-6


def test_addresses_do_not_share_a_bucket() -> None:
    rates = AddressRates(rate=1.0, capacity=1.0)
    assert rates.allows("10.0.0.1", 0.0)
    assert not rates.allows("10.0.0.1", 0.0)
    assert rates.allows("10.0.0.2", 0.0)
    assert rates.has("10.0.0.3", 0.0)
    assert len(rates) == 2


def test_a_rate_of_nought_is_no_limit() -> None:
    rates = AddressRates(rate=0.0, capacity=0.0)
    assert all(rates.allows("a", 0.0) for _ in range(1000))
    assert rates.charge("a", 1e9, 0.0) == 0.0
    assert len(rates) == 0


def test_a_million_addresses_do_not_grow_the_table() -> None:
    rates = AddressRates(rate=0.001, capacity=1.0, most=100)
    for number in range(5000):
        rates.allows(str(number), number * 0.0001)
    assert len(rates) <= 100
    rates.allows("later", 1e9)
    assert len(rates) <= 100


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::6", "2001:db8:1:2::"),
        ("2001:db8::6", "2001:db8:0:0::"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::1", "0:0:0:0::"),
    ],
)
def test_one_host_has_64_bits_of_ipv6(address: str, network: str) -> None:
    assert network_of(address) == network
