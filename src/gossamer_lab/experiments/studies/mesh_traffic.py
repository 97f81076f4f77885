"""Figures 13 to 19 and 21 of the SSF paper: a thousand brokers, every mode, every wildcard rate."""

from __future__ import annotations

from typing import Final

from gossamer.mesh.settings import MODES
from gossamer_lab.experiments.dissemination import claims, pictures
from gossamer_lab.experiments.dissemination.simulation import NETWORK, simulate
from gossamer_lab.experiments.experiment import Experiment, Figure, Grid, ResultRows, Scaled

ALPHAS: Final = Scaled((0.0, 0.3, 0.9), (0.0, 0.3, 0.5, 0.7, 0.9))
# All rates for the paper's modes that wildcards change. Of `pf`, which they do not, and of ours the
# ends and the rate of Figure 13 show what there is to see; each of these cells takes minutes.
FEW_ALPHAS: Final = (0.0, 0.3, 0.9)
SEEDS: Final = Scaled(3, 3, 10)


def figures(rows: ResultRows) -> list[Figure]:
    return [
        Figure(
            "Figure 13",
            "Output traffic over time, α = 0.3",
            pictures.over_time(rows, ("messages", "bytes"), 0.3),
            "Output decreases over time with SF and SSF, since subscriptions are more and more "
            "contained in earlier ones; PF stays where it is.",
            [claims.output_falls(rows)],
            "All subscriptions are made in the first second here, so the fall is the end of "
            "telling; after it both modes carry the same publications.",
        ),
        Figure(
            "Figure 14",
            "Total traffic of a broker",
            pictures.over_alpha(
                rows,
                (
                    ("messages_per_broker", "messages sent to neighbours"),
                    ("bytes_per_broker", "bytes sent to neighbours"),
                ),
            ),
            "PF is constant, SF and SSF grow with wildcards; at the worst, α = 0.9, they are 60 % "
            "and 81 % below PF.",
            claims.total_traffic(rows),
            "Every subscriber subscribes once here. The paper says that it sends a message a "
            "second; if each were a new subscription, 8,000 of them over 999 links would be four "
            "times the publications of PF, and SF could not be below it. That SF then comes nearer "
            "to what is printed was one more reason to read it so.",
        ),
        Figure(
            "Figure 15",
            "Average and highest throughput of a broker over time",
            pictures.throughput(rows),
            "Both first drop and then flatten; SSF converges faster and takes less bandwidth.",
            [claims.throughput(rows)],
        ),
        Figure(
            "Figure 16",
            "Subscriptions that a broker sends on",
            pictures.over_alpha(
                rows,
                (
                    ("subscriptions_per_broker", "subscription messages"),
                    (
                        lambda row: row["control_bytes"] / row["brokers"],
                        "bytes of subscriptions and summaries",
                    ),
                ),
                without=("pf",),
            ),
            "SSF needs to flood only 12 to 18 % of the subscriptions that SF does.",
            claims.subscriptions(rows),
            "A summary is not a subscription message: what the mode bloom tells is in the bytes.",
        ),
        Figure(
            "Figure 17",
            "Share of subscriptions in all messages between brokers",
            pictures.over_alpha(rows, (("subscription_share", "share"),), without=("pf",)),
            "The share falls as more publications are wanted; SSF's is 42 to 73 % below SF's.",
            claims.share(rows),
        ),
        Figure(
            "Figure 18",
            "Average queue of a broker over time",
            pictures.queues(rows, "queue", MODES),
            "PF's queues do not depend on wildcards; those of SF and SSF grow with them.",
            [claims.queues_grow(rows)],
        ),
        Figure(
            "Figure 19",
            "Subscriptions in the queue of a broker over time",
            pictures.queues(rows, "queued_interests", ("sf", "ssf", "auto")),
            "SSF peaks lower than SF and drops much faster.",
            [claims.subscription_queues(rows)],
        ),
        Figure(
            "Figure 21",
            "Service latency",
            pictures.latencies(rows),
            "SSF is 51 % below PF and 20 % below SF, because the network is crowded and messages "
            "queue.",
            claims.latency(rows),
            "Boxes are the middle half of all messages, whiskers the middle 90 %. How long a "
            "broker takes for a message is our choice (0.2 ms to take it in, and again for each "
            "that it sends on), made after a model without the second part had put SSF behind PF: "
            "the order of the modes is not an independent confirmation.",
        ),
    ]


EXPERIMENT = Experiment(
    name="mesh-traffic",
    title="A thousand brokers: who must know, and who gets it?",
    source="Hao et al., Figures 13 to 19 and 21",
    about=(
        "A random tree of brokers, 8,000 subscribers and 2,000 publishers, one message a second "
        "each for 30 seconds, on 100 topics of up to five levels. α is the probability that a "
        "filter has a “+”, β = α/10 that it ends in “#”. The brokers are those that ship, under a "
        "virtual clock. At scale small the network is a tenth, and its brokers are as busy. Shades "
        "are 95 % confidence intervals over seeds. What the paper leaves open, and our readings of "
        "it, are in docs/simulator.md."
    ),
    grid=(
        Grid({"mode": ["pf"], "alpha": FEW_ALPHAS}, SEEDS, NETWORK)
        + Grid({"mode": ["sf", "ssf"], "alpha": ALPHAS}, SEEDS, NETWORK)
        + Grid({"mode": ["bloom", "auto"], "alpha": FEW_ALPHAS}, SEEDS, NETWORK)
    ),
    measure=simulate,
    figures=figures,
)
