"""What is for one broker only: routed from neighbour to neighbour until it is there."""
