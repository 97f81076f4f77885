"""Values written as CBOR, in the shortest form but for floats."""

import struct


def cbor(value: object) -> bytes:
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", False: b"\xf4", True: b"\xf5"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(cbor(one) for one in value)
    assert isinstance(value, dict)
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def head(major: int, size: int) -> bytes:
    if size < 24:
        return bytes((major << 5 | size,))
    length = next(n for n in range(4) if size < 1 << (8 << n))
    return bytes((major << 5 | 24 + length,)) + size.to_bytes(1 << length, "big")
