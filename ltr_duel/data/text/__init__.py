"""Feature text: bytes to numbers and back, in chunks, side by side. What a number means is not known here."""
