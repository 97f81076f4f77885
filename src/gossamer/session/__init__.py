"""What one client left with us: subscriptions, queues, packet identifiers, expiry, will."""
