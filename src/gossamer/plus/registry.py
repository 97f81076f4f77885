"""Every operator, in one ordered tuple: what a broker lists, the grammar reads and Spark compiles.

A new operator is a file of `plus/operators/` and a line here. `spark/compiler/expressions.py` has
its column expression, or the reason why there is none; a test compares the two.
"""

from typing import Final

from gossamer.plus.operators.absent import ABSENT
from gossamer.plus.operators.avg import AVG
from gossamer.plus.operators.by import BY
from gossamer.plus.operators.changed import CHANGED
from gossamer.plus.operators.cntfemale import CNTFEMALE
from gossamer.plus.operators.cntmale import CNTMALE
from gossamer.plus.operators.cntppl import CNTPPL
from gossamer.plus.operators.contains import CONTAINS
from gossamer.plus.operators.count import COUNT
from gossamer.plus.operators.delta import DELTA
from gossamer.plus.operators.eq import EQ
from gossamer.plus.operators.every import EVERY
from gossamer.plus.operators.first import FIRST
from gossamer.plus.operators.gt import GT
from gossamer.plus.operators.gte import GTE
from gossamer.plus.operators.kinds import (
    AggregateKind,
    GroupKind,
    OperatorKind,
    OptionKind,
    ProcessorKind,
    RuleKind,
    SequenceKind,
)
from gossamer.plus.operators.last import LAST
from gossamer.plus.operators.lt import LT
from gossamer.plus.operators.lte import LTE
from gossamer.plus.operators.max import MAX
from gossamer.plus.operators.median import MEDIAN
from gossamer.plus.operators.min import MIN
from gossamer.plus.operators.neq import NEQ
from gossamer.plus.operators.p95 import P95
from gossamer.plus.operators.plus_every import PLUS_EVERY
from gossamer.plus.operators.plus_least import PLUS_LEAST
from gossamer.plus.operators.plus_reply import PLUS_REPLY
from gossamer.plus.operators.rate import RATE
from gossamer.plus.operators.recognize import RECOGNIZE
from gossamer.plus.operators.stddev import STDDEV
from gossamer.plus.operators.sum import SUM
from gossamer.plus.operators.windows import DAILY, HOURLY, QUARTERHOURLY, Window

# Within a kind, the order in which brokers and forms list them.
OPERATORS: Final[tuple[OperatorKind, ...]] = (
    *(CNTPPL, CNTMALE, CNTFEMALE, RECOGNIZE),
    *(EQ, NEQ, GT, GTE, LT, LTE, CONTAINS),
    *(CHANGED, EVERY, ABSENT, RATE, DELTA),
    *(BY,),
    *(COUNT, SUM, AVG, MIN, MAX, STDDEV, MEDIAN, P95, FIRST, LAST),
    *(DAILY, HOURLY, QUARTERHOURLY),
    *(PLUS_REPLY, PLUS_EVERY, PLUS_LEAST),
)

PROCESSORS: Final = [one for one in OPERATORS if isinstance(one, ProcessorKind)]
RULES: Final = {one.keyword: one for one in OPERATORS if isinstance(one, RuleKind)}
SEQUENCES: Final = {one.keyword: one for one in OPERATORS if isinstance(one, SequenceKind)}
GROUPS: Final = {one.keyword: one for one in OPERATORS if isinstance(one, GroupKind)}
AGGREGATES: Final = {one.keyword: one for one in OPERATORS if isinstance(one, AggregateKind)}
DEFAULT_WINDOWS: Final = tuple([one for one in OPERATORS if isinstance(one, Window)])
OPTIONS: Final = {one.keyword: one for one in OPERATORS if isinstance(one, OptionKind)}
