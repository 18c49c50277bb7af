"""Feature text: parallel conversion between bytes and numbers, in chunks."""
