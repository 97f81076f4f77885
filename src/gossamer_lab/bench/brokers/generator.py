"""The generator's process: one scenario against one broker, its result as JSON on stdout.

python -m gossamer_lab.bench.brokers.generator SCENARIO '{"host": …, "port": …, …}'
"""

import gc
import json
import sys
from dataclasses import asdict

from gossamer_lab.bench.brokers.link import GeneratorError
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement
from gossamer_lab.bench.brokers.scenarios import BY_NAME


def main() -> None:
    name, target = sys.argv[1:3]
    gc.disable()
    try:
        result = BY_NAME[name].run(BenchTarget(**json.loads(target)))
    except (GeneratorError, OSError) as problem:
        result = Measurement(failure=str(problem) or type(problem).__name__)
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
