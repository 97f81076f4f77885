"""The laboratory's commands of `gossamer`, one file a command or group of commands."""
