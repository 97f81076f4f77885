"""Every chain under the same load, one at a time, and what of one broker's throughput it keeps."""

from collections.abc import Callable, Sequence

from gossamer_lab.bench.brokers.link import GeneratorError
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement
from gossamer_lab.bench.brokers.runner import median, run_generator, split_cores
from gossamer_lab.bench.brokers.scenarios import LoadScenario
from gossamer_lab.bench.mesh.chains import BrokerChain

Results = dict[str, dict[str, Measurement]]  # by scenario and chain


def per_core(run: Measurement) -> float | None:
    """Deliveries for each second of the busiest broker: what a chain carries if every broker of it
    has a core of its own."""
    if run.failure or not run.busiest_cpu_seconds:
        return None
    return run.delivered / run.busiest_cpu_seconds


def kept(run: Measurement, alone: Measurement | None) -> float | None:
    """The part of one broker's throughput per core that a chain keeps."""
    own = per_core(run)
    one = None if alone is None else per_core(alone)
    return None if own is None or not one else own / one


def kept_of_all(run: Measurement, alone: Measurement | None) -> float | None:
    """The same for each second of all its brokers together; n brokers that each do what one does
    keep 1 / n."""
    own = run.cpu_per_delivery()
    one = None if alone is None else alone.cpu_per_delivery()
    return None if not own or not one else one / own


def measure_once(scenario: LoadScenario, chain: BrokerChain, seconds: float) -> Measurement:
    broker_cores, generator_cores = split_cores()
    try:
        with chain.running(broker_cores) as running:
            first, *further = running.pids
            target = BenchTarget(
                "127.0.0.1",
                running.first_port,
                first,
                seconds,
                last_port=running.last_port,
                further_pids=tuple(further),
            )
            return run_generator(scenario, target, generator_cores)
    except (GeneratorError, OSError) as problem:
        return Measurement(failure=str(problem))


def run_all(
    scenarios: Sequence[LoadScenario],
    chains: Sequence[BrokerChain],
    seconds: float,
    repeat: int,
    report: Callable[[LoadScenario, BrokerChain], None],
) -> Results:
    """All measurements; `report` hears of each run as it starts."""
    results: Results = {}
    for scenario in scenarios:
        runs: dict[str, list[Measurement]] = {chain.name: [] for chain in chains}
        for _ in range(repeat):
            for chain in chains:
                report(scenario, chain)
                runs[chain.name].append(measure_once(scenario, chain, seconds))
        results[scenario.name] = {name: median(found) for name, found in runs.items()}
    return results
