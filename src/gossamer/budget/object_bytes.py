"""What an object of a class costs by itself: compiled classes are smaller than interpreted ones."""

from typing import Final

_COLLECTED: Final = 1 << 14  # Py_TPFLAGS_HAVE_GC
_COLLECTOR_HEAD: Final = 16
_ALIGNMENT: Final = 16  # the allocator gives memory in steps of so many bytes


def object_bytes(kind: type) -> int:
    """Without what its fields refer to; of a class whose objects have no dictionary."""
    size = kind.__basicsize__ + (_COLLECTOR_HEAD if kind.__flags__ & _COLLECTED else 0)
    return -(-size // _ALIGNMENT) * _ALIGNMENT
