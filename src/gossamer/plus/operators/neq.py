"""`$NEQ;30` passes values different from the argument."""

import operator
from typing import Final

from gossamer.plus.operators.kinds import RuleKind

NEQ: Final = RuleKind("NEQ", "passes values different from the argument", operator.ne, operator.ne)
