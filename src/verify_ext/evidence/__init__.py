"""Verdicts bound to the bytes they are about, and the gate over them."""
