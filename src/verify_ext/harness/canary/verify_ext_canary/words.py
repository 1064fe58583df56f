"""A module of the package's own, so that the canary notices when those cannot be imported."""

DESCRIPTION = "Writes the text that it is given to a file."
