"""A heap that gives up its least key, and forgets removed ones only when they come to the top."""

from heapq import heapify, heappop, heappush


class LazyHeap:
    """Keys with the number that identifies them. At most half of what it holds is forgotten."""

    __slots__ = ("_gone", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._gone: set[int] = set()

    def push(self, key: float, number: int) -> None:
        heappush(self._heap, (key, number))

    def forget(self, number: int) -> None:
        gone = self._gone
        gone.add(number)
        if 2 * len(gone) > len(self._heap):
            self._heap = [item for item in self._heap if item[1] not in gone]
            heapify(self._heap)
            gone.clear()

    def least(self) -> tuple[float, int]:
        """Raises IndexError when it is empty."""
        while self._heap[0][1] in self._gone:
            self._gone.discard(heappop(self._heap)[1])
        return self._heap[0]
