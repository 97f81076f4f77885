"""A mesh whose clients move from broker to broker."""

from dataclasses import replace
from typing import Final

from gossamer_lab.trials.joint_oracle import JointOracle
from gossamer_lab.trials.joint_plan import MOVE, group_of, members_of
from gossamer_lab.trials.plan import TrialPlan, TrialStep
from gossamer_lab.trials.trial_client import TrialClient
from gossamer_lab.trials.world import World

# Longer than any trouble: a client that waits gets its session, never another one.
WAIT_SECONDS: Final = 300.0


class JointWorld(World):
    def __init__(self, plan: TrialPlan, keeps_trace: bool = False) -> None:
        super().__init__(replace(plan, clients=[]), keeps_trace)
        self.plan = plan
        names = [client.name for client in plan.clients]
        members, group = members_of(plan), group_of(plan)
        self.joint = JointOracle(names, self.trace, members, group, self._is_ordered)
        self.oracle = self.joint
        for host in self.hosts:
            host.roaming_seconds = WAIT_SECONDS
            host.mesh.settings.roaming_seconds = WAIT_SECONDS
        self.connect(plan.clients)

    def do(self, step: TrialStep) -> None:
        if step.verb == MOVE:
            self._move(self.clients[str(step.what)], int(step.topic))
        else:
            super().do(step)

    def _move(self, client: TrialClient, number: int) -> None:
        """Its old broker may hear of it or not."""
        host = self.hosts[number]
        if host is client.host:
            return
        self.joint.moved(client.name, host.name)
        if client.end is not None:
            if self.random.random() < 0.5:
                client.drop()
            else:
                client.end.is_open = False
                client.lost()
        client.host = host

    def wrong_owners(self) -> list[str]:
        """At rest a session is where its client is, and nowhere else."""
        faults: list[str] = []
        for client in self.clients.values():
            owners = [
                host.name
                for host in self.hosts
                if (session := host.broker.core.sessions.get(client.name)) is not None
                and not host.mesh.roaming.moves.of(session).is_away()
            ]
            if owners != [client.host.name]:
                where = client.host.name
                faults.append(f"{client.name} is on {where}, its session on {owners}")
        return faults
