"""Whether other brokers must send what an operator reads, or need not any more."""

from gossamer.broker.core import Core
from gossamer.broker.operator_subscriptions import Operation


def set_draws(core: Core, operation: Operation, draws: bool) -> None:
    """Tells the neighbours."""
    if operation.draws == draws:
        return
    operation.draws = draws
    for subscription in operation.members():
        for read in subscription.reads():
            if draws:
                core.neighbours.wanted(read, subscription.session)
            else:
                core.neighbours.unwanted(read, subscription.session)
