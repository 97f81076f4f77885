"""Geofences over DataFrames: cells first, with built-in functions, and exact geometry after."""
