"""The aggregate functions, one file each, listed in `table`."""
