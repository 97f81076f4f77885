"""`$EQ;30` passes values equal to the argument."""

import operator
from typing import Final

from gossamer.plus.operators.kinds import RuleKind

EQ: Final = RuleKind("EQ", "passes values equal to the argument", operator.eq, operator.eq)
