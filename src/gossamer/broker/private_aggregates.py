"""Aggregates over topics whose values the client may not read: allowed where a result tells of many
and of none of them.

That is an aggregate over topics of windows that tumble, as `$AVG$HOURLYAVG/home/+/power`: of
functions that give back no single value, over exactly a filter that a rule names, without rules or
sequences inside that would choose among the topics, without their names, and with so many of them
as the rule says. What changes with each publication, or window by sliding window, tells of few, and
so is not allowed.
"""

from typing import Final

from gossamer.broker.policy import Permissions
from gossamer.plus.operators.kinds import Options
from gossamer.plus.operators.plus_least import PLUS_LEAST
from gossamer.plus.plan import OperatorPlan
from gossamer.session.identity import Identity

# Of those that take part, none of them gives back one's value.
_FUNCTIONS: Final = ("COUNT", "SUM", "AVG", "STDDEV")


def least_participants(
    permissions: Permissions, client: Identity, plan: OperatorPlan, options: Options
) -> int:
    """How many topics must take part for this client to have the results; 0 if it may not have
    them at all. Asked where it may not read the topics themselves."""
    spatial = plan.spatial
    if (
        spatial is None
        or plan.temporal is None
        or not plan.temporal.window.tumbles
        or plan.processor is not None
        or plan.inner
        or plan.has_steps()
        or spatial.function not in _FUNCTIONS
        or spatial.names_participants
        or options.names_participants
        or len(plan.reads) != 1
    ):
        return 0
    return permissions.least_participants(client, plan.reads[0])


def with_least(user: list[tuple[str, str]], least: int) -> list[tuple[str, str]]:
    """The options of a SUBSCRIBE, with that beside what the client asked for: the larger counts."""
    return [*user, (PLUS_LEAST.keyword, str(least))]
