"""One list of operators: what its files define, what a broker offers, what comes with it."""

import json
from importlib import import_module
from pathlib import Path

from gossamer.plus import operators
from gossamer.plus.operators.kinds import OperatorKind
from gossamer.plus.registry import (
    AGGREGATES,
    DEFAULT_WINDOWS,
    GROUPS,
    OPERATORS,
    PROCESSORS,
    RULES,
    SEQUENCES,
)
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.registry import load


def test_each_operator_of_the_folder_is_listed_once() -> None:
    folder = Path(str(operators.__file__)).parent
    modules = [import_module(f"{operators.__name__}.{path.stem}") for path in folder.glob("*.py")]
    defined = [
        one for module in modules for one in vars(module).values() if isinstance(one, OperatorKind)
    ]
    keywords = [one.keyword for one in OPERATORS]
    assert {id(one) for one in defined} == {id(one) for one in OPERATORS}
    assert len(set(keywords)) == len(keywords)
    assert all(one.description for one in OPERATORS)


def test_a_broker_offers_what_is_listed_in_that_order() -> None:
    offered = json.loads(Vocabulary(processors=PROCESSORS).capabilities())
    assert [entry["keyword"] for entry in offered] == [
        *(f"${kind.keyword}" for kind in PROCESSORS),
        *(f"${keyword}" for keyword in RULES),
        *(f"${keyword}" for keyword in SEQUENCES),
        *(f"${keyword}" for keyword in GROUPS),
        *(f"${keyword}" for keyword in AGGREGATES),
        *(f"${one.keyword}{keyword}" for one in DEFAULT_WINDOWS for keyword in AGGREGATES),
    ]


def test_a_processor_is_what_the_list_says_of_it() -> None:
    for kind in PROCESSORS:
        found = load(kind.place)
        said = (found.keyword, found.description, found.returns)
        assert said == (kind.keyword, kind.description, kind.returns)
