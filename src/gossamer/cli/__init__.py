"""The command `gossamer`, one file a command or group of commands."""
