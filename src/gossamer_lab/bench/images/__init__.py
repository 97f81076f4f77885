"""What looking at images takes: the steps of one, workers under load, and a broker around them."""
