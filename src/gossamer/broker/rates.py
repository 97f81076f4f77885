"""Token buckets: how fast one client or one address may be. The time is passed in.

A bucket may be asked (`allows`: yes or no, for connects and failed logins) or charged (`charge`:
the work is done anyway, and the answer is how long to wait before the next, for bytes and
publications, whose sender is read slower rather than cut off).
"""

from typing import Final

# Past this many addresses those that are back at their full allowance are forgotten.
MOST_ADDRESSES: Final = 65536


class Bucket:
    """`rate` tokens a second, at most `capacity` of them at once; it starts full."""

    __slots__ = ("at", "capacity", "rate", "tokens")

    def __init__(self, rate: float, capacity: float, now: float) -> None:
        self.rate = rate
        self.capacity = capacity
        self.tokens = capacity
        self.at = now

    def refill(self, now: float) -> None:
        elapsed = now - self.at
        if elapsed > 0.0:  # A clock set back earns nothing and costs nothing.
            self.tokens = min(self.capacity, self.tokens + elapsed * self.rate)
        self.at = now

    def allows(self, now: float) -> bool:
        """Takes one token, if there is one."""
        self.refill(now)
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True

    def has(self, now: float) -> bool:
        """Whether there is a token, without taking it."""
        self.refill(now)
        return self.tokens >= 1.0

    def charge(self, amount: float, now: float) -> float:
        """Takes `amount`, into debt if need be; the seconds until the debt is paid, else 0."""
        self.refill(now)
        self.tokens -= amount
        return 0.0 if self.tokens >= 0.0 else -self.tokens / self.rate


class AddressRates:
    """One bucket for each address that was seen lately. A rate of 0 allows everything."""

    def __init__(self, rate: float, capacity: float, most: int = MOST_ADDRESSES) -> None:
        self.rate = rate
        self.capacity = max(capacity, 1.0)
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def allows(self, address: str, now: float) -> bool:
        return self.rate <= 0.0 or self._bucket(address, now).allows(now)

    def has(self, address: str, now: float) -> bool:
        if self.rate <= 0.0:
            return True
        bucket = self._buckets.get(network_of(address))
        return bucket is None or bucket.has(now)

    def give_back(self, address: str) -> None:
        """A token that `allows` took was not used."""
        bucket = self._buckets.get(network_of(address))
        if bucket is not None:
            bucket.tokens = min(bucket.capacity, bucket.tokens + 1.0)

    def charge(self, address: str, amount: float, now: float) -> float:
        return 0.0 if self.rate <= 0.0 else self._bucket(address, now).charge(amount, now)

    def _bucket(self, address: str, now: float) -> Bucket:
        key = network_of(address)
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= self._most:
                self._forget(now)
            bucket = Bucket(self.rate, self.capacity, now)
            self._buckets[key] = bucket
        return bucket

    def _forget(self, now: float) -> None:
        """Drops the full buckets; where none is, the older half, so that memory stays bounded."""
        kept: dict[str, Bucket] = {}
        for address, bucket in self._buckets.items():
            bucket.refill(now)
            if bucket.tokens < bucket.capacity:
                kept[address] = bucket
        if len(kept) >= self._most:
            kept = dict(list(kept.items())[len(kept) // 2 :])
        self._buckets = kept


def network_of(address: str) -> str:
    """What counts as one address: of IPv6 the first 64 bits, which one host has for itself."""
    if address.startswith("::ffff:") and "." in address:
        return address[7:]
    if ":" not in address:
        return address
    head, gap, _ = address.partition("::")
    groups = head.split(":") if head else []
    if gap:
        groups += ["0", "0", "0", "0"]
    return ":".join(groups[:4]) + "::"
