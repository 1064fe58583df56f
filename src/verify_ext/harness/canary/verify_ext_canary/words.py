"""A module of the package's own, so that the canary notices when those cannot be imported."""

DESCRIPTION = "Returns the text that it is given."
