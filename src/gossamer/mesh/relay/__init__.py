"""What goes beyond the next neighbour: words for every broker, errands for one."""
