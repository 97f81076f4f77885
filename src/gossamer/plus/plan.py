"""What an operator subscription means: small typed nodes that know nothing of who evaluates them.

One `OperatorPlan` is, outermost first, `after outer spatial? inner temporal? before processor?`, or
`outer processor?`, or `before processor?`. A value flows from the publication outwards.
"""

from gossamer.plus.operators.windows import Window
from gossamer.topics.containment import contains


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


class StepNode:
    """What a publication meets on its way: a rule or a sequence."""

    __slots__ = ()


class RuleNode(StepNode):
    """A condition. `number` is the operand as a number, None if it is not one."""

    __slots__ = ("field", "keyword", "number", "operand")

    def __init__(
        self, keyword: str, operand: str, number: float | None, field: Field | None
    ) -> None:
        self.keyword = keyword  # "EQ", without the dollar
        self.operand = operand
        self.number = number
        self.field = field  # of the payload; None for the whole


class SequenceNode(StepNode):
    """What follows each topic by itself. `amount` is what its kind read of the argument."""

    __slots__ = ("amount", "field", "keyword", "starts_retained")

    def __init__(
        self, keyword: str, amount: float, field: Field | None, starts_retained: bool
    ) -> None:
        self.keyword = keyword
        self.amount = amount
        self.field = field
        self.starts_retained = starts_retained


class GroupNode(StepNode):
    """Each value of the field is as a topic of its own."""

    __slots__ = ("field", "keyword")

    def __init__(self, keyword: str, field: Field) -> None:
        self.keyword = keyword
        self.field = field


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
    Rules are `outer` or `inner` as seen from a spatial operator; without one they are outer. Where
    there are sequences, what stands around them are steps: `before` the aggregate, or without one,
    and `after` it. So no publication was kept from any sequence by a rule that is outer or inner.
    """

    __slots__ = (
        "after",
        "before",
        "chain",
        "filter",
        "inner",
        "outer",
        "processor",
        "reads",
        "spatial",
        "temporal",
    )

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
        before: tuple[StepNode, ...] = (),
        after: tuple[StepNode, ...] = (),
    ) -> None:
        self.chain = chain
        self.filter = filter
        self.reads = reads
        self.outer = outer
        self.spatial = spatial
        self.inner = inner
        self.temporal = temporal
        self.processor = processor
        self.before = before
        self.after = after

    def has_steps(self) -> bool:
        """Whether it remembers what topics published before, beside an aggregate."""
        return bool(self.before or self.after)

    def starts_retained(self) -> bool:
        """Whether it begins with the retained messages of its topics: where a last value counts,
        and not when it came."""
        if self.temporal is not None or self.processor is not None:
            return False
        for node in (*self.before, *self.after):
            if isinstance(node, SequenceNode) and not node.starts_retained:
                return False
        return self.spatial is not None or bool(self.before)

    def named_topics(self) -> list[str]:
        """Those that it reads by name, without wildcards, and that are not groups."""
        if any(isinstance(node, GroupNode) for node in self.before):
            return []
        return [
            read for read in self.reads if not any(one in ("+", "#") for one in read.split("/"))
        ]

    def is_listed(self) -> bool:
        """Whether it names topics in lists, from which the topic of a result does not tell those
        that take part."""
        return self.spatial is not None and len(self.reads) > 1

    def is_within(self, filters: list[str]) -> bool:
        """Whether each filter that it reads is within one of these."""
        return all(any(contains(one, read) for one in filters) for read in self.reads)
