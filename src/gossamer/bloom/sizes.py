"""The equations of Bloom filters: how many bits and hashes a wanted error rate takes.

b is the number of bits, k of hashes, n_e of distinct elements, p_fp the false positive rate.
"""

import math
from typing import Final

MAX_BITS: Final = 1 << 28  # 32 MiB, 18 million elements at 0.001; a wire header can ask no more.
MAX_HASHES: Final = 32  # The best number for one error in four thousand million.


def bits_for(elements: int, error_rate: float) -> int:
    """b = -n_e ln(p_fp) / (ln 2)²"""
    if elements < 1:
        raise ValueError(f"a Bloom filter is sized for at least 1 element, not {elements}")
    if not 0.0 < error_rate < 1.0:
        raise ValueError(f"a false positive rate must be between 0 and 1, not {error_rate}")
    bits = math.ceil(-elements * math.log(error_rate) / math.log(2.0) ** 2)
    if bits > MAX_BITS:
        raise ValueError(f"{elements} elements at {error_rate} take more than {MAX_BITS} bits")
    return bits


def hashes_for(bits: int, elements: int) -> int:
    """k = (b / n_e) ln 2, a whole number"""
    return min(MAX_HASHES, max(1, round(bits / elements * math.log(2.0))))


def guide_hashes_for(hashes: int) -> int:
    """The probes of a guide: at 0.001 seven of ten, so that less than one in a hundred misleads."""
    return (7 * hashes + 9) // 10


def error_rate_of(bits: int, hashes: int, elements: int) -> float:
    """p_fp = (1 - e^(-k n_e / b))^k"""
    return float((1.0 - math.exp(-hashes * elements / bits)) ** hashes)


def elements_of(bits: int, hashes: int, ones: int) -> float:
    """How many distinct elements have probably set this many bits; infinite when all are set."""
    if ones >= bits:
        return math.inf
    return -bits / hashes * math.log(1.0 - ones / bits)
