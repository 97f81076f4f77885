"""`gossamer bench`: the command of a benchmark is in the benchmark's own file.

All of these are imported for one of them, and for `gossamer --help`: what is not needed to show the
help of a benchmark and takes long, or may not be installed, is imported in its command.
"""

from gossamer_lab.bench.archive import archive as archive
from gossamer_lab.bench.attacks.measurement import attacks as attacks
from gossamer_lab.bench.bloom import bloom as bloom
from gossamer_lab.bench.brokers import brokers as brokers
from gossamer_lab.bench.durable import durable as durable
from gossamer_lab.bench.flood import flood as flood
from gossamer_lab.bench.geo import geo as geo
from gossamer_lab.bench.growth import growth as growth
from gossamer_lab.bench.heal import heal as heal
from gossamer_lab.bench.images import images as images
from gossamer_lab.bench.links import links as links
from gossamer_lab.bench.memory import memory as memory
from gossamer_lab.bench.mesh import mesh as mesh
from gossamer_lab.bench.plus import plus as plus
from gossamer_lab.bench.pushdown import pushdown as pushdown
from gossamer_lab.bench.restarts import restarts as restarts
from gossamer_lab.bench.spark.command import spark as spark
from gossamer_lab.bench.stalls import stalls as stalls
from gossamer_lab.bench.start import start as start
from gossamer_lab.bench.topics import topics as topics
