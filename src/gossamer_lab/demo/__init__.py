"""A small city for demonstrations: sensors, vehicles and cameras as real clients of a real mesh."""
