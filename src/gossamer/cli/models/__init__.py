"""Commands for the models that look at images."""
