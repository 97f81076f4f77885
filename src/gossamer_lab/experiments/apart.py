"""A function in a process of its own, so that its memory and processor time are its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns; it must be importable by name."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
