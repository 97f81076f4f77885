"""Where matters: GLP in User Properties, regions on the WGS 84 ellipsoid, the spatial index."""
