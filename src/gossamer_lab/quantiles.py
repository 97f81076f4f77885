"""Quantiles of what was measured, the same wherever a report states one."""


def quantile(ordered: list[float], part: float) -> float:
    """The value that this part of an ascending list does not exceed; 0 for none."""
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0
