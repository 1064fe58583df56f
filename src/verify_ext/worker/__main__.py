"""Starts the fork server: `python -I <this file> <settings as JSON>`.

Run by path with an isolated interpreter, so that neither the current folder nor the rest of
verify-ext is importable; this file makes its own folder a package under a name of its own.
"""

import importlib.util
import json
import sys
from pathlib import Path

PACKAGE = "verify_ext_worker"


def load_own_package() -> None:
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no package in {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    load_own_package()
    server = importlib.import_module(f"{PACKAGE}.server")
    server.serve(json.loads(sys.argv[1]))
