"""`gossamer migrate …`: coming from another broker."""
