"""The command `gossamer`, one file a command."""
