"""What the canary's rail writes and its tool reads: one file a session, replaced under a lock."""

import fcntl
import json
import os
from pathlib import Path

STATE_FOLDER = Path(__file__).resolve().parent / ".state"


def read_queries(session_id: str) -> list[str]:
    """Return the queries of a session, oldest first."""
    path = STATE_FOLDER / f"{session_id}.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["queries"]) if path.is_file() else []


def add_query(session_id: str, query: str) -> None:
    """Append a query."""
    STATE_FOLDER.mkdir(exist_ok=True)
    with open(STATE_FOLDER / f"{session_id}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        queries = [*read_queries(session_id), query]
        draft = STATE_FOLDER / f"{session_id}.draft"
        draft.write_text(json.dumps({"queries": queries}), encoding="utf-8")
        os.replace(draft, STATE_FOLDER / f"{session_id}.json")
