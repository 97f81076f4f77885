"""The testbed of the SSF paper: seven brokers, real processes, bytes counted on the links."""
