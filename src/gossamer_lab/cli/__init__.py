"""The laboratory's commands of `gossamer`, one file a command."""
