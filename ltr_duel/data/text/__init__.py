"""Feature text: parallel conversion between bytes and numbers, in chunks. The meaning of the numbers is not used."""
