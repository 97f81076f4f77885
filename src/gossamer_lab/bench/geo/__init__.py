"""Geofences under load: the spatial index alone, by itself and beside shapely."""
