"""A detector in an ONNX file of a few hundred bytes: red images show one person, others nobody.

Its graph: the mean of each colour, times weights, plus offsets, as rows of
left, top, right, bottom, score, class. Written with the few tags of ONNX's protobuf that it needs.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

FLOAT, INT64 = 1, 7
SIDE = 32

# In pixels of a square of 32: one box in the middle, its score is the mean of red.
OFFSETS = [8.0, 8.0, 24.0, 24.0, 0.0, 0.0]
WEIGHTS = [[0.0, 0.0, 0.0, 0.0, red, 0.0] for red in (1.0, 0.0, 0.0)]


def write_detector(path: Path) -> Path:
    path.write_bytes(_model())
    return path


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def _bytes(tag: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(tag << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _tensor(name: str, dims: Sequence[int], kind: int, values: Sequence[float]) -> bytes:
    code = "f" if kind == FLOAT else "q"
    raw = struct.pack(f"<{len(values)}{code}", *values)
    return b"".join(_number(1, dim) for dim in dims) + (
        _number(2, kind) + _bytes(8, name) + _bytes(9, raw)
    )


def _value(name: str, dims: Sequence[int]) -> bytes:
    shape = b"".join(_bytes(1, _number(1, dim)) for dim in dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, FLOAT) + _bytes(2, shape)))


def _node(kind: str, inputs: Sequence[str], output: str) -> bytes:
    return b"".join(_bytes(1, name) for name in inputs) + (
        _bytes(2, output) + _bytes(3, output) + _bytes(4, kind)
    )


def _model() -> bytes:
    columns = len(OFFSETS)
    nodes = (
        _node("GlobalAveragePool", ["image"], "means"),
        _node("Flatten", ["means"], "flat"),
        _node("Gemm", ["flat", "weights", "offsets"], "row"),
        _node("Reshape", ["row", "shape"], "found"),
    )
    tensors = (
        _tensor("weights", [3, columns], FLOAT, [one for row in WEIGHTS for one in row]),
        _tensor("offsets", [columns], FLOAT, OFFSETS),
        _tensor("shape", [3], INT64, [1, 1, columns]),
    )
    graph = (
        b"".join(_bytes(1, node) for node in nodes)
        + _bytes(2, "detector")
        + b"".join(_bytes(5, tensor) for tensor in tensors)
        + _bytes(11, _value("image", [1, 3, SIDE, SIDE]))
        + _bytes(12, _value("found", [1, 1, columns]))
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 13))
