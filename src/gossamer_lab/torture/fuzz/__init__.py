"""A broker in memory is given packets that nobody should send, and has to stand them."""
