"""What the paper says beside what was measured; where they differ, why.

The first group must hold in any reading of the paper's set-up. The second are its printed numbers,
and the paper leaves open what they depend on.
"""

from __future__ import annotations

from gossamer.experiments.checks import Check
from gossamer.experiments.dissemination.measuring import CROWDED, SETTLED, SPREAD, Findings
from gossamer.mesh.settings import MODES

MOST_OF_SF = 0.18  # the paper's highest share of subscriptions that SSF floods
FEWER_BYTES = 5.0
MOST_NEEDLESS = 0.01

_SAME_PUBLICATIONS = (
    "both modes forward the same publications here, so that only subscriptions can differ; for "
    "81 % SSF would have to drop publications that SF sends"
)
_FEW_TOPICS = (
    "with 100 topics in all, a link carries each maximal filter once however many subscribe, which "
    "is less than the paper's share"
)
_QUEUES = (
    "latency here is mostly the queues of brokers that get more than they can pass on, so it "
    "depends on how fast a broker is, which the paper does not say"
)


def must_hold(findings: Findings) -> list[Check]:
    return [_deliveries(findings), _share_of_sf(findings), *_summaries(findings)]


def paper_says(findings: Findings) -> list[Check]:
    return [
        _figure_14(findings),
        _figure_16(findings),
        _figure_17(findings),
        _figure_19(findings),
        _figure_20(findings),
        _figure_21(findings),
    ]


def _deliveries(findings: Findings) -> Check:
    alphas = findings.of(SETTLED, "pf")
    same = all(
        findings.of(SETTLED, mode)[alpha].received == alphas[alpha].received
        for mode in MODES
        for alpha in alphas
    )
    counts = ", ".join(f"{cell.deliveries:,}" for cell in alphas.values())
    return Check(
        "once subscriptions have settled, all modes deliver the same messages",
        f"{'the same' if same else 'NOT the same'} in {len(MODES)} modes: {counts} deliveries",
        same,
    )


def _share_of_sf(findings: Findings) -> Check:
    shares = _shares(findings)
    text = ", ".join(f"{share:.1%} at α={alpha:g}" for alpha, share in shares.items())
    return Check(
        "SSF sends at most 18 % of SF's subscription messages at every α",
        text,
        max(shares.values()) <= MOST_OF_SF,
    )


def _summaries(findings: Findings) -> list[Check]:
    by_kind = {(storm.mode, storm.is_storm): storm for storm in findings.storms}
    bits = by_kind["bloom", False]
    filters = by_kind["ssf", False]
    ratio = filters.control_bytes / bits.control_bytes
    stormy = by_kind["ssf", True].control_bytes / by_kind["bloom", True].control_bytes
    needless = max(storm.needless / storm.unwanted for storm in findings.storms)
    missed = sum(storm.missed for storm in findings.storms)
    return [
        Check(
            f"{bits.filters:,} distinct filters as a Bloom summary take at least 5 times fewer "
            "bytes than as filters",
            f"{ratio:.1f} times ({bits.control_bytes:,} and {filters.control_bytes:,} bytes); "
            f"while they come within ten seconds, {stormy:.1f} times",
            ratio >= FEWER_BYTES,
        ),
        Check(
            "under 1 % of what nobody wants is forwarded, and nothing wanted is missing",
            f"{needless:.3%}; {missed} missing",
            needless < MOST_NEEDLESS and missed == 0,
        ),
    ]


def _shares(findings: Findings) -> dict[float, float]:
    flooded = findings.of(SPREAD, "sf")
    return {
        alpha: cell.interests / flooded[alpha].interests
        for alpha, cell in findings.of(SPREAD, "ssf").items()
    }


def _figure_14(findings: Findings) -> Check:
    """At the highest wildcard rate, in messages."""
    savings = []
    for mode in ("sf", "ssf"):
        alpha, cell = list(findings.of(SPREAD, mode).items())[-1]
        flooding = findings.of(SPREAD, "pf")[alpha]
        savings.append(
            1 - cell.measures.messages_per_broker / flooding.measures.messages_per_broker
        )
    return Check(
        "Figure 14, α=0.9: total traffic is 60 % (SF) and 81 % (SSF) below PF",
        f"{savings[0]:.0%} and {savings[1]:.0%}",
        abs(savings[0] - 0.60) < 0.05 and abs(savings[1] - 0.81) < 0.05,
        _SAME_PUBLICATIONS,
    )


def _figure_16(findings: Findings) -> Check:
    shares = list(_shares(findings).values())
    return Check(
        "Figure 16: SSF floods 12 to 18 % of the subscriptions that SF does",
        f"{min(shares):.1%} to {max(shares):.1%}",
        min(shares) >= 0.12 and max(shares) <= MOST_OF_SF,
        _FEW_TOPICS,
    )


def _figure_17(findings: Findings) -> Check:
    flooded = findings.of(SPREAD, "sf")
    cuts = [
        1 - cell.measures.subscription_share / flooded[alpha].measures.subscription_share
        for alpha, cell in findings.of(SPREAD, "ssf").items()
    ]
    return Check(
        "Figure 17: the share of subscriptions is 42 to 73 % smaller than with SF",
        f"{min(cuts):.0%} to {max(cuts):.0%}",
        min(cuts) >= 0.40 and max(cuts) <= 0.75,
        _FEW_TOPICS,
    )


def _figure_19(findings: Findings) -> Check:
    flooded = findings.of(SPREAD, "sf")
    pairs = [
        (
            cell.measures.longest_average_subscription_queue,
            flooded[alpha].measures.longest_average_subscription_queue,
        )
        for alpha, cell in findings.of(SPREAD, "ssf").items()
    ]
    worst = max(pairs)
    return Check(
        "Figure 19: queues of subscriptions peak lower with SSF than with SF",
        f"at most {worst[0]:,.1f} and {worst[1]:,.1f} a broker",
        all(ours <= theirs for ours, theirs in pairs),
    )


def _figure_20(findings: Findings) -> Check:
    peaks = {
        mode: max(cell.measures.longest_queue for cell in findings.of(CROWDED, mode).values())
        for mode in MODES
    }
    return Check(
        "Figure 20: with subscribers close together SF and SSF may have hotspots above PF's",
        ", ".join(f"{mode} {peak:,}" for mode, peak in peaks.items()),
        max(peaks["sf"], peaks["ssf"]) > peaks["pf"],
        "hotspots depend on where subscribers are; SSF's subscriptions stop where they are known",
    )


def _figure_21(findings: Findings) -> Check:
    alpha, selective = list(findings.of(SPREAD, "ssf").items())[-1]
    mean = selective.measures.latency_mean
    below_pf = 1 - mean / findings.of(SPREAD, "pf")[alpha].measures.latency_mean
    below_sf = 1 - mean / findings.of(SPREAD, "sf")[alpha].measures.latency_mean
    return Check(
        "Figure 21: latency is 51 % below PF's and 20 % below SF's",
        f"{below_pf:.0%} and {below_sf:.0%} (mean, α={alpha:g})",
        abs(below_pf - 0.51) < 0.1 and abs(below_sf - 0.20) < 0.1,
        _QUEUES,
    )
