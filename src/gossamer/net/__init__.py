"""The shell around the core: sockets, clock, configuration, clients."""
