"""What builds the project: the compiled core and the wheels."""
