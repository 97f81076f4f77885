"""Operators that look at images, in worker processes that cannot hurt the broker."""
