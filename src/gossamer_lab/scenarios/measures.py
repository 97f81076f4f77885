"""The measures of the paper's figures, from what a run left behind."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from gossamer_lab.scenarios.meter import Sample
from gossamer_lab.scenarios.scenario import ScenarioResult


@dataclass
class Second:
    """All brokers in one second: averages a broker, and the worst one."""

    second: int
    publications: float
    interests: float
    bytes: float
    most_bytes: int
    queue: float
    queued_interests: float
    longest_queue: int


@dataclass
class Measures:
    """Each field names the figure that it is the measure of."""

    output: list[Second]  # 13, 15, 18, 19
    messages_per_broker: float  # 14: publications and subscriptions sent to neighbours
    bytes_per_broker: float  # 14
    subscriptions_per_broker: float  # 16
    subscription_share: float  # 17: of all messages between brokers
    longest_average_queue: float  # 18
    longest_average_subscription_queue: float  # 19
    longest_queue: int  # 20
    hottest_broker: int  # 20
    latency_median: float  # 21, seconds
    latency_mean: float
    latency_99: float


def measure(result: ScenarioResult) -> Measures:
    brokers = result.settings.brokers
    output = by_second(result)
    messages = result.forwards + result.interests
    worst = max(result.samples, key=lambda sample: sample.longest_queue)
    latencies = sorted(result.latencies)
    return Measures(
        output,
        messages / brokers,
        result.link_bytes / brokers,
        result.interests / brokers,
        result.interests / max(1, messages),
        max(second.queue for second in output),
        max(second.queued_interests for second in output),
        worst.longest_queue,
        worst.broker,
        quantile(latencies, 0.5),
        fmean(latencies) if latencies else 0.0,
        quantile(latencies, 0.99),
    )


def by_second(result: ScenarioResult) -> list[Second]:
    """Samples lie second by second, all brokers of each together."""
    brokers = result.settings.brokers
    seconds: list[Second] = []
    for start in range(0, len(result.samples), brokers):
        group: list[Sample] = result.samples[start : start + brokers]
        seconds.append(
            Second(
                group[0].second,
                fmean(sample.publications for sample in group),
                fmean(sample.interests for sample in group),
                fmean(sample.bytes for sample in group),
                max(sample.bytes for sample in group),
                fmean(sample.queue for sample in group),
                fmean(sample.queued_interests for sample in group),
                max(sample.longest_queue for sample in group),
            )
        )
    return seconds


def quantile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0
