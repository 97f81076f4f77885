"""What a client is told waits until it is true, and never longer."""

from gossamer.session.counters import Counters
from gossamer.session.hub import Hub
from gossamer.session.journal import Journal
from gossamer.session.outbox import Outbox
from gossamer.session.sink import Sink


class Written(Sink):
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


class Bench:
    """One outbox over a journal whose turns and commits the test decides."""

    def __init__(self, durable: bool = True) -> None:
        self.journal = Journal()
        self.journal.durable = durable
        self.hub = Hub(self.journal, Counters())
        self.sink = Written()
        self.outbox = Outbox(self.hub, self.sink, 5, 1)

    def change(self) -> None:
        self.journal.dirty = True

    def take(self) -> None:
        """The batch that collected is being written."""
        self.journal.batch += 1
        self.journal.dirty = False

    def commit(self, batch: int) -> None:
        self.hub.committed(batch)

    def written(self) -> bytes:
        dirty, self.hub.dirty = self.hub.dirty, []
        for outbox in dirty:
            outbox.flush()
        return self.sink.data


def test_a_promise_without_a_change_goes_out_at_once() -> None:
    bench = Bench()
    bench.outbox.put_promise(b"1")
    assert bench.written() == b"1"


def test_a_journal_that_promises_nothing_holds_nothing() -> None:
    bench = Bench(durable=False)
    bench.change()
    bench.outbox.put_promise(b"1")
    assert bench.written() == b"1"


def test_a_promise_waits_for_its_batch() -> None:
    bench = Bench()
    bench.change()
    bench.outbox.put_promise(b"1")
    bench.take()
    assert bench.written() == b""
    bench.commit(1)
    assert bench.written() == b"1"


def test_an_answer_about_what_is_being_written_waits_for_it() -> None:
    bench = Bench()
    bench.change()
    bench.take()
    bench.outbox.put_promise(b"again")
    assert bench.written() == b""
    bench.commit(1)
    assert bench.written() == b"again"


def test_a_promise_behind_a_held_one_waits_for_no_batch_that_may_never_come() -> None:
    bench = Bench()
    bench.change()
    bench.outbox.put_promise(b"1")
    bench.take()
    bench.outbox.put_promise(b"2")
    bench.commit(1)
    assert bench.written() == b"12"


def test_promises_of_two_batches_go_out_one_after_the_other() -> None:
    bench = Bench()
    bench.change()
    bench.outbox.put_promise(b"1")
    bench.take()
    bench.change()
    bench.outbox.put_promise(b"2")
    bench.take()
    bench.commit(1)
    assert bench.written() == b"1"
    bench.commit(2)
    assert bench.written() == b"12"


def test_output_without_a_promise_passes_what_is_held() -> None:
    bench = Bench()
    bench.change()
    bench.outbox.put_promise(b"1")
    bench.outbox.put(b"2")
    assert bench.written() == b"2"


def test_nothing_passes_an_outbox_that_holds_back() -> None:
    bench = Bench()
    bench.change()
    bench.outbox.hold_back()
    bench.outbox.put(b"connack")
    bench.outbox.put_promise(b" suback")
    bench.outbox.put(b" publish")
    bench.take()
    assert bench.written() == b""
    bench.commit(1)
    assert bench.written() == b"connack suback publish"
    assert bench.hub.holding == []
    bench.outbox.put(b"!")
    assert bench.written().endswith(b"!")


def test_holding_back_what_was_about_to_be_written() -> None:
    bench = Bench()
    bench.outbox.put(b"auth")
    bench.change()
    bench.outbox.hold_back()
    assert bench.written() == b""
    bench.take()
    bench.commit(1)
    assert bench.written() == b"auth"


def test_a_closed_outbox_is_forgotten() -> None:
    bench = Bench()
    bench.change()
    bench.outbox.hold_back()
    bench.outbox.put_promise(b"1")
    bench.outbox.closed = True
    bench.commit(0)
    assert bench.hub.holding == []
    assert bench.written() == b""
