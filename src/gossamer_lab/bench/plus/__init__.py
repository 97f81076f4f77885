"""What MQTT+ costs and what it saves, measured in simulated time on the core that ships."""
