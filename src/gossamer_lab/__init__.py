"""What measures and demonstrates Gossamer: benchmarks, experiments, fault tests, the demonstration.

A distribution of its own (`packaging/lab`). It may import all of `gossamer`, never the other way.
"""
