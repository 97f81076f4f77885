"""200 pairs with one message per read: each publisher waits for its delivery and sends the next."""

import select
import time

from gossamer_lab.bench.brokers import mqtt, proc
from gossamer_lab.bench.brokers.bursts import PAYLOAD
from gossamer_lab.bench.brokers.flow import DRAIN_SECONDS, WARM_UP_SHARE
from gossamer_lab.bench.brokers.link import GeneratorError, close, open_link, start, subscribe
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

PAIRS = 200
READ_SIZE = 4096


def one_message_per_read(target: BenchTarget) -> Measurement:
    poll = select.epoll()
    receive, send, links = {}, {}, []
    for number in range(PAIRS):
        topic = f"bench/pair/{number:03d}"
        subscriber = open_link(target.address, f"s{number}")
        subscribe(subscriber, [topic], 0)
        publisher = open_link(target.address, f"p{number}")
        start([subscriber, publisher])
        links += [subscriber, publisher]
        key = subscriber.socket.fileno()
        poll.register(key, select.EPOLLIN)
        receive[key] = subscriber.socket.recv
        send[key] = (publisher.socket.send, mqtt.publish(topic, PAYLOAD))
    size = len(mqtt.publish("bench/pair/000", PAYLOAD))
    sent = received_bytes = 0

    def run_until(end: float, *, sending: bool) -> None:
        nonlocal sent, received_bytes
        while time.perf_counter() < end and (sending or received_bytes < sent * size):
            for key, _ in poll.poll(0.1):
                count = len(receive[key](READ_SIZE))
                if count == 0:
                    raise GeneratorError("the broker closed a connection under load")
                received_bytes += count
                if sending:
                    write, packet = send[key]
                    write(packet)
                    sent += 1

    for write, packet in send.values():
        write(packet)
        sent += 1
    run_until(time.perf_counter() + target.seconds * WARM_UP_SHARE, sending=True)
    sent_before, bytes_before = sent, received_bytes
    cpu, own_cpu = proc.cpu_seconds(target.pid), time.process_time()
    began = time.perf_counter()
    run_until(began + target.seconds, sending=True)
    result = Measurement(
        seconds=time.perf_counter() - began,
        sent=sent - sent_before,
        delivered=(received_bytes - bytes_before) // size,
        broker_cpu_seconds=proc.cpu_seconds(target.pid) - cpu,
        generator_cpu_seconds=time.process_time() - own_cpu,
        resident_bytes=proc.resident_bytes(target.pid),
    )
    run_until(time.perf_counter() + DRAIN_SECONDS, sending=False)
    close(links)
    result.lost = sent - received_bytes // size
    return result
