"""What every broker of the mesh hears: passed on over every link, each item handled once."""
