"""Which retained messages a mesh at rest may have."""


class RetainedOracle:
    """Which retained message each topic may have in the end.

    Of writes in one round the last of each writer may win: nothing orders two writers on two
    brokers. A write of a later round beats all of earlier ones, however wrong the clocks are."""

    def __init__(self) -> None:
        self._possible: dict[str, set[str]] = {}  # by topic; "" where there may be none
        self._this_round: dict[str, dict[str, list[str]]] = {}  # by topic and writer
        self._is_calm = True

    def wrote(self, topic: str, writer: str, payload: str) -> None:
        """An empty payload removes."""
        self._this_round.setdefault(topic, {}).setdefault(writer, []).append(payload)

    def begin_round(self, is_calm: bool) -> None:
        """In a round that is not calm a write may be repeated, or never arrive."""
        self._close_round()
        self._is_calm = is_calm

    def judge(self, found: dict[str, dict[str, str]]) -> list[str]:
        """What is wrong with what each broker shows: payloads by topic, by broker."""
        self._close_round()
        faults: list[str] = []
        for broker, shown in found.items():
            for topic in self._possible.keys() | shown.keys():
                payload = shown.get(topic, "")
                possible = self._possible.get(topic, {""})
                if payload not in possible:
                    faults.append(
                        f"{broker} retains {payload or 'nothing'} on {topic}; "
                        f"possible is {sorted(possible)}"
                    )
        if len({tuple(sorted(shown.items())) for shown in found.values()}) > 1:
            faults.append(f"brokers retain different messages: {found}")
        return faults

    def _close_round(self) -> None:
        for topic, writers in self._this_round.items():
            before = self._possible.get(topic, {""})
            if self._is_calm:
                self._possible[topic] = {writes[-1] for writes in writers.values()}
            else:
                every = {payload for writes in writers.values() for payload in writes}
                self._possible[topic] = before | every
        self._this_round = {}
