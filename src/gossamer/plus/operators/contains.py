"""`$CONTAINS;alarm` passes text that contains the argument."""

import operator
from typing import Final

from gossamer.plus.operators.kinds import RuleKind

CONTAINS: Final = RuleKind(
    "CONTAINS", "passes text that contains the argument", None, operator.contains
)
