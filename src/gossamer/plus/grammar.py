"""An operator subscription to its plan and its options, or a refusal that says what is wrong where.

The first level is a chain `$OP[;ARG…][$OP[;ARG…]…]`, the rest an ordinary filter. Arguments are
percent-encoded where they hold one of `/ $ ; + # %`. Outermost first, a chain reads
`step* spatial? rule* temporal? steps? processor?`; a step is a rule or a sequence, and `steps`
begin with a sequence. Options are MQTT 5 User Properties of the SUBSCRIBE.
"""

import re
from itertools import product
from typing import Final
from urllib.parse import unquote

from gossamer.plus.limits import (
    MAX_CHAIN_CHARACTERS,
    MAX_LISTED_BYTES,
    MAX_LISTED_TOPICS,
    MAX_OPERATORS,
    MAX_PREDICATE_CHARACTERS,
)
from gossamer.plus.operators.kinds import Options
from gossamer.plus.operators.windows import SessionWindow
from gossamer.plus.plan import (
    Field,
    GroupNode,
    OperatorPlan,
    PlusError,
    ProcessorNode,
    RuleNode,
    SequenceNode,
    SpatialNode,
    StepNode,
    TemporalNode,
)
from gossamer.plus.registry import AGGREGATES, GROUPS, OPTIONS, RULES, SEQUENCES
from gossamer.plus.result_topics import plain_name
from gossamer.plus.values import parse_field, read_number
from gossamer.plus.vocabulary import RESERVED, Vocabulary

# What makes a filter ours. `$SYS/…`, and lower-case names that other brokers use
# (`$share`, `$queue`, `$aws`), stay ordinary filters.
_OPERATOR = re.compile(r"\$([A-Z][A-Z0-9]*)(?:[;$/]|$)")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# What an argument cannot hold as it is: what means something in a filter, and control characters.
_TO_ENCODE = re.compile(r"[/$;+#%\x00-\x1f\x7f]")

_ONLY_RULES: Final = Vocabulary(windows=())

_REPLIES: Final = {"": None, "SKR": False, "RPT": True}

# The order in which the kinds may follow each other, outermost first.
_RULE: Final = 0
_SEQUENCE: Final = 1
_GROUP: Final = 2
_SPATIAL: Final = 3
_TEMPORAL: Final = 4
_PROCESSOR: Final = 5
_KIND_NAMES: Final = (
    "rule",
    "sequence",
    "group",
    "spatial operator",
    "temporal operator",
    "processor",
)


def is_operator_filter(filter: str) -> bool:
    """Whether the filter (without a `$share/…` prefix) is meant for the operators."""
    found = _OPERATOR.match(filter)
    return found is not None and found[1] not in RESERVED


class _ChainItem:
    """One operator of a chain, as written."""

    def __init__(self, place: int, text: str) -> None:
        self.place = place
        parts = text.split(";")
        self.keyword = parts[0]
        self.arguments = [self._decoded(part) for part in parts[1:]]

    def error(self, reason: str) -> PlusError:
        return PlusError(f"operator {self.place}, ${self.keyword[:40]}: {reason}")

    def argument(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def field(self) -> Field | None:
        """The second argument of every operator that takes a value."""
        if len(self.arguments) > 2:
            raise self.error("has more than two arguments")
        if len(self.arguments) < 2 or not self.arguments[1]:
            return None
        try:
            return parse_field(self.arguments[1])
        except PlusError as error:
            raise self.error(str(error)) from None

    def _decoded(self, text: str) -> str:
        if _BAD_ESCAPE.search(text):
            raise self.error("an argument has a % without two hexadecimal digits")
        try:
            return unquote(text, errors="strict")
        except UnicodeDecodeError:
            raise self.error("an argument is not UTF-8 behind its % signs") from None


def parse(filter: str, vocabulary: Vocabulary) -> OperatorPlan:
    """`filter` is a valid MQTT filter. Raises PlusError."""
    chain, slash, rest = filter.partition("/")
    if len(chain) > MAX_CHAIN_CHARACTERS:
        raise PlusError(
            f"the operators take {len(chain)} characters; {MAX_CHAIN_CHARACTERS} is most"
        )
    if not slash or not rest:
        raise PlusError(f"{chain} needs a topic filter behind it")
    texts = chain[1:].split("$")
    if len(texts) > MAX_OPERATORS:
        raise PlusError(f"{len(texts)} operators in one chain; {MAX_OPERATORS} is most")
    return _PlanReader(vocabulary).read(chain, rest, texts)


def parse_rules(chain: str) -> tuple[RuleNode, ...]:
    """Rules alone, as `spelled` writes them one after the other. Raises PlusError."""
    if len(chain) > MAX_PREDICATE_CHARACTERS:
        raise PlusError(
            f"the rules take {len(chain)} characters; {MAX_PREDICATE_CHARACTERS} is most"
        )
    if not chain:
        return ()
    if chain[0] != "$" or "/" in chain:
        raise PlusError(f"{chain[:40]!r} is no chain of rules")
    texts = chain[1:].split("$")
    if len(texts) > MAX_OPERATORS:
        raise PlusError(f"{len(texts)} rules in one chain; {MAX_OPERATORS} is most")
    plan = _PlanReader(_ONLY_RULES).read(chain, "#", texts)
    if plan.spatial is not None or plan.has_steps():
        raise PlusError(f"operator 1 to {len(texts)}: {chain[:40]!r} has more than rules")
    return plan.outer


def spelled(rule: RuleNode) -> str:
    """As it stands in a chain: parsing it gives the rule again."""
    text = f"${rule.keyword};{_encoded(rule.operand)}"
    return text if rule.field is None else f"{text};{_encoded(rule.field.text)}"


def _encoded(text: str) -> str:
    return _TO_ENCODE.sub(lambda found: f"%{ord(found[0]):02X}", text)


class _PlanReader:
    """Reads one chain, outermost operator first, and keeps what it has seen."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.outside: list[StepNode] = []  # of all aggregates
        self.inner: list[RuleNode] = []  # right inside of the spatial one
        self.before: list[StepNode] = []  # inside of all aggregates, from the first sequence on
        self.spatial: SpatialNode | None = None
        self.temporal: TemporalNode | None = None
        self.processor: ProcessorNode | None = None
        self.group: GroupNode | None = None
        self.field: Field | None = None  # that the nearest aggregate or sequence outside reads
        self.latest = _ChainItem(0, "")
        self.latest_kind = _RULE

    def read(self, chain: str, rest: str, texts: list[str]) -> OperatorPlan:
        items = [_ChainItem(place, text) for place, text in enumerate(texts, 1)]
        for item in items:
            self._read_item(item)
        self._refuse_fields_of_results(items)
        after, outer = _split_at_last_sequence(self.outside)
        if self.spatial is None and self.temporal is None and after:
            self.before = self.outside
            after, outer = [], []
        return OperatorPlan(
            chain,
            rest,
            _reads(self._read_filter(rest), self.spatial is not None),
            tuple(outer),
            self.spatial,
            tuple(self.inner),
            self.temporal,
            self.processor,
            tuple(self.before),
            tuple(after),
        )

    def _read_filter(self, rest: str) -> str:
        """What is read: where there are groups, without the level of their keys."""
        if self.group is None:
            return rest
        topics, _, key = rest.rpartition("/")
        if key != "+" or not topics:
            raise PlusError(
                f"${self.group.keyword} needs a filter that ends with /+, where the keys stand"
            )
        return topics

    def _read_item(self, item: _ChainItem) -> None:
        kind = self._kind(item)
        self._refuse_wrong_order(item, kind)
        if kind == _RULE:
            self._read_rule(item)
        elif kind == _SEQUENCE:
            self._read_sequence(item)
        elif kind == _GROUP:
            self._read_group(item)
        elif kind == _SPATIAL:
            reply = item.argument()
            if reply not in _REPLIES:
                raise item.error(f"replies as SKR or RPT, not as {reply[:40]!r}")
            self.field = item.field()
            self.spatial = SpatialNode(item.keyword, self.field, _REPLIES[reply])
        elif kind == _TEMPORAL:
            if item.argument():
                raise item.error("its first argument must be empty; the second may name a field")
            window, function = self.vocabulary.temporal[item.keyword]
            self.field = item.field()
            if self.spatial is not None and isinstance(window, SessionWindow):
                raise item.error(
                    f"${self.spatial.function} cannot stand around it: windows that a gap ends do "
                    "not end together"
                )
            self.temporal = TemporalNode(window, function.keyword, self.field)
        else:
            if item.arguments:
                raise item.error("takes no argument")
            trouble = self.vocabulary.processors[item.keyword].trouble
            if trouble:
                raise item.error(trouble)
            self.processor = ProcessorNode(item.keyword)
        self.latest = item
        self.latest_kind = kind

    def _kind(self, item: _ChainItem) -> int:
        keyword = item.keyword
        if keyword in RULES:
            return _RULE
        if keyword in SEQUENCES:
            return _SEQUENCE
        if keyword in GROUPS:
            return _GROUP
        if keyword in AGGREGATES:
            return _SPATIAL
        if keyword in self.vocabulary.temporal:
            return _TEMPORAL
        if keyword in self.vocabulary.processors:
            return _PROCESSOR
        if not keyword:
            raise item.error("the operator has no name")
        raise item.error("no such operator here; $SYS/capabilities lists those there are")

    def _refuse_wrong_order(self, item: _ChainItem, kind: int) -> None:
        before = f"${self.latest.keyword}, operator {self.latest.place}"
        if self.latest_kind == _PROCESSOR or (kind == _RULE and self.latest_kind == _TEMPORAL):
            raise item.error(f"a {_KIND_NAMES[kind]} cannot stand inside {before}")
        if self.group is not None and kind not in (_RULE, _PROCESSOR):
            raise item.error(f"${self.group.keyword} has only rules and a processor inside of it")
        if kind == _SPATIAL and (self.spatial is not None or self.temporal is not None):
            raise item.error(f"a spatial operator cannot stand inside another aggregate ({before})")
        if kind == _TEMPORAL and self.temporal is not None:
            raise item.error(f"a temporal operator cannot stand inside another ({before})")
        if kind == _TEMPORAL and self.before:
            raise item.error(
                f"a sequence cannot stand between two aggregates ({before}): put it inside of both"
            )

    def _read_rule(self, item: _ChainItem) -> None:
        operand = item.argument()
        value = read_number(operand.encode())
        number = value if value - value == 0.0 else None
        if not item.arguments:
            raise item.error(f"needs a value, as in ${item.keyword};30")
        if number is None and RULES[item.keyword].texts is None:
            raise item.error(f"needs a number, not {operand[:40]!r}")
        field = item.field()
        # It judges what enters the operator around it, unless it names another field.
        rule = RuleNode(item.keyword, operand, number, field if field is not None else self.field)
        if self.before:
            self.before.append(rule)
        elif self.spatial is not None:
            self.inner.append(rule)
        else:
            self.outside.append(rule)

    def _read_sequence(self, item: _ChainItem) -> None:
        kind = SEQUENCES[item.keyword]
        try:
            amount = kind.read(item.argument())
        except ValueError as error:
            raise item.error(str(error)) from None
        field = item.field()
        if not kind.has_field and len(item.arguments) > 1:
            raise item.error("takes one argument, and reads no field")
        if kind.has_field and field is None:
            field = self.field
        node = SequenceNode(item.keyword, amount, field, kind.starts_retained)
        if self.spatial is None and self.temporal is None:
            self.outside.append(node)
        else:
            self.before.append(node)
        if kind.has_field:
            self.field = field

    def _read_group(self, item: _ChainItem) -> None:
        if len(item.arguments) != 1 or not item.arguments[0]:
            raise item.error(f"needs one field, as in ${item.keyword};sensor")
        try:
            self.group = GroupNode(item.keyword, parse_field(item.arguments[0]))
        except PlusError as error:
            raise item.error(str(error)) from None
        if self.spatial is None and self.temporal is None:
            self.outside.append(self.group)
        else:
            self.before.append(self.group)

    def _refuse_fields_of_results(self, items: list[_ChainItem]) -> None:
        """Only what reads the payload has fields; what others make of it is one number."""
        made = ""
        for item in reversed(items):
            if made and (item.keyword in GROUPS or item.field() is not None):
                raise item.error(f"reads the result of ${made}, which has no fields")
            sequence = SEQUENCES.get(item.keyword)
            if (
                item.keyword in AGGREGATES
                or item.keyword in self.vocabulary.temporal
                or (sequence is not None and sequence.returns == "value")
            ):
                made = item.keyword


def _split_at_last_sequence(steps: list[StepNode]) -> tuple[list[StepNode], list[RuleNode]]:
    """The steps up to it, and the rules inside of it."""
    rules: list[RuleNode] = []
    for at in range(len(steps) - 1, -1, -1):
        node = steps[at]
        if not isinstance(node, RuleNode):
            return steps[: at + 1], rules
        rules.insert(0, node)
    return [], rules


def _reads(filter: str, may_list: bool) -> tuple[str, ...]:
    """The filters that it stands for. Explicit lists (`sens1;sens2`) mean every combination; `%3B`
    and `%25` are characters of a name, and in lists `%2F` begins another level."""
    if ";" not in filter and "%" not in filter:
        return (filter,)
    levels = filter.split("/")
    choices: list[list[str]] = []
    combinations = 1
    for level in levels:
        names = level.split(";")
        if len(names) > 1 and not may_list:
            raise PlusError(
                f"{level[:40]!r} would be a list, which only aggregates over topics have; a ; that "
                "is part of a topic is written %3B"
            )
        if len(names) > 1 and "" in names:
            raise PlusError(f"the list {level[:40]!r} has an empty name")
        names = [plain_name(name, may_list) for name in names]
        if "/" in "".join(names) and any(other in ("+", "#") for other in levels):
            raise PlusError(
                f"the list {level[:40]!r} names several levels (%2F), which cannot stand beside "
                "a wildcard"
            )
        names = list(dict.fromkeys(names))
        combinations *= len(names)
        choices.append(names)
    if combinations > MAX_LISTED_TOPICS:
        raise PlusError(f"the lists name {combinations} topics; {MAX_LISTED_TOPICS} is most")
    size = 0
    for names in choices:
        size += combinations // len(names) * sum([1 + len(name) for name in names])
    if size > MAX_LISTED_BYTES:
        raise PlusError(f"the lists name topics of {size} bytes; {MAX_LISTED_BYTES} is most")
    return tuple("/".join(levels) for levels in product(*choices))


def read_options(user: list[tuple[str, str]]) -> Options:
    """Raises PlusError for a value that is not allowed; other names are not ours."""
    options = Options()
    for name, value in user:
        option = OPTIONS.get(name)
        if option is not None:
            option.read(options, value)
    return options


def settled(plan: OperatorPlan, options: Options) -> Options:
    """The options as they matter to this plan: what the chain says wins, the rest is dropped.

    Subscriptions that behave the same thus have the same key, and share their state.
    """
    spatial = plan.spatial
    if spatial is None:
        return Options()
    stated = spatial.names_participants
    wild = any(level in ("+", "#") for level in plan.filter.split("/"))
    named = stated if stated is not None else options.names_participants
    is_named = named and (wild or plan.is_listed())
    every = options.every if plan.temporal is None else 0.0
    return Options(is_named, every, options.least)
