"""A large mesh under the load of the paper on selective subscription forwarding."""
