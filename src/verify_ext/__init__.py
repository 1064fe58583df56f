"""verify-ext: proves that agent extensions work in the real harness."""

__version__ = "0.1.0"
