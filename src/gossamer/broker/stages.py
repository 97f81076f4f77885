"""Where a connection stands; the order matters: everything below OPEN has not logged in."""

from typing import Final

AWAITING_CONNECT: Final = 0
DECIDING: Final = 1  # somebody else decides about the login
OPEN: Final = 2
CLOSED: Final = 3
