"""Who a client is: back ends that know, a chain that asks them, and what fails closed."""
