"""The public corpora: what they are, who may have them, how they are fetched, checked and unpacked."""
