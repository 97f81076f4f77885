"""A city of moving clients, for what geofences save."""
