"""What was asked for in a session, kept in a file that rail and tool share."""

import fcntl
import json
import os
import tempfile
from pathlib import Path

STATE_FOLDER = Path(__file__).resolve().parent / ".state"


def read_requests(session_id: str) -> list[str]:
    """Return the requests of this session, oldest first; empty before the first one."""
    path = STATE_FOLDER / f"{session_id}.json"
    if not path.is_file():
        return []
    return list(json.loads(path.read_text(encoding="utf-8"))["requests"])


def add_request(session_id: str, request: str) -> None:
    """Append a request under a lock; a reader always finds a whole file."""
    STATE_FOLDER.mkdir(exist_ok=True)
    with open(STATE_FOLDER / f"{session_id}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        requests = [*read_requests(session_id), request]
        handle, temporary = tempfile.mkstemp(dir=STATE_FOLDER, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"requests": requests}, stream, ensure_ascii=False)
        os.replace(temporary, STATE_FOLDER / f"{session_id}.json")
