"""What runs inside the harness for a harness package: says what it saw, judges nothing.

Standard library and openjiuwen only; loaded by path in the worker, so imports here are relative.
`EXERCISES` maps a name to a function of the contract adapter, the request and `say` (which
reports progress, so that a crash has a place); each returns plain data for the judges.
"""

from .accept import accept
from .load import construct, load

EXERCISES = {"construct": construct, "load": load, "accept": accept}
