"""The pages, one a file, listed in `listing`."""
