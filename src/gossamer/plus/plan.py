"""What an operator subscription means: small typed nodes that know nothing of who evaluates them.

`rule* spatial? rule* temporal? processor?`, outermost first, is one `OperatorPlan`. A value flows
from the publication outwards: processor, temporal, inner rules, spatial, outer rules, subscriber.
"""

from gossamer.plus.operators.windows import Window


class PlusError(ValueError):
    """Why an operator subscription is refused.

    The text names the offending operator and its place, fit for a reason string.
    """


class Field:
    """Of a JSON payload: the steps from the document's root to a value."""

    __slots__ = ("steps", "text")

    def __init__(self, text: str, steps: tuple[str, ...]) -> None:
        self.text = text
        self.steps = steps


class RuleNode:
    """A condition. `number` is the operand as a number, None if it is not one."""

    __slots__ = ("field", "keyword", "number", "operand")

    def __init__(
        self, keyword: str, operand: str, number: float | None, field: Field | None
    ) -> None:
        self.keyword = keyword  # "EQ", without the dollar
        self.operand = operand
        self.number = number
        self.field = field  # of the payload; None for the whole


class SpatialNode:
    """An aggregate over the topics that the filter matches."""

    __slots__ = ("field", "function", "names_participants")

    def __init__(self, function: str, field: Field | None, names_participants: bool | None) -> None:
        self.function = function
        self.field = field
        self.names_participants = names_participants  # RPT, SKR, or None: not said in the chain


class TemporalNode:
    """An aggregate over the values that one topic had in a window of time."""

    __slots__ = ("field", "function", "window")

    def __init__(self, window: Window, function: str, field: Field | None) -> None:
        self.window = window
        self.function = function
        self.field = field


class ProcessorNode:
    """Turns a payload (an image) into another one (a number, a JSON document)."""

    __slots__ = ("keyword",)

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword


class OperatorPlan:
    """One operator subscription.

    `chain` is the filter's first level as the subscriber wrote it, `filter` what follows it, and
    `reads` the ordinary filters whose publications it needs: more than one for explicit lists.
    Without a spatial operator every rule is an outer one.
    """

    __slots__ = ("chain", "filter", "inner", "outer", "processor", "reads", "spatial", "temporal")

    def __init__(
        self,
        chain: str,
        filter: str,
        reads: tuple[str, ...],
        outer: tuple[RuleNode, ...],
        spatial: SpatialNode | None,
        inner: tuple[RuleNode, ...],
        temporal: TemporalNode | None,
        processor: ProcessorNode | None,
    ) -> None:
        self.chain = chain
        self.filter = filter
        self.reads = reads
        self.outer = outer
        self.spatial = spatial
        self.inner = inner
        self.temporal = temporal
        self.processor = processor
