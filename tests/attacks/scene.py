"""What there is to protect, and whether it is still whole after a run.

A scene is one folder, entered by everybody, so that nothing but the jail keeps an extension out:
a home with secrets, a workspace with all packages, the files that steer a workflow, sockets that
listen, a process that carries the token. One run of the program verifies the whole workspace, as
it would on a pull request; the good packages in it are the victims, and run beside the attackers.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.attacks.catalogue import Attack
from tests.mutations.edit import replace
from verify_ext.harness.proof import CANARY_ROOT

MEANS = Path(__file__).with_name("means.py")
TIMEOUT_S = 15
VICTIMS_EVERY = 4
"""After so many attackers comes a victim; the attack that waits for other jobs has three after it."""

_PR_SET_CHILD_SUBREAPER = 36
_WAIT = "import os, sys; sys.stdin.read(); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"


@dataclass
class Scene:
    """The folder, the secrets and who listens; `heard` is what they heard."""

    folder: Path
    token: str = field(default_factory=lambda: "ghs_attack_" + secrets.token_hex(12))
    secret: str = field(default_factory=lambda: "secret-of-the-user-" + secrets.token_hex(12))
    heard: list[str] = field(default_factory=list)
    targets: dict[str, Any] = field(default_factory=dict)
    decoy: subprocess.Popen[str] | None = None

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def scratch(self) -> Path:
        return self.folder / "temporary"

    def environment(self, cache: Path) -> dict[str, str]:
        """Return the variables of a workflow's step, tokens and all."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "ACTIONS_"))
        }
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.scratch),
            "VERIFY_EXT_CACHE": str(cache),
            "GITHUB_TOKEN": self.token,
            "ACTIONS_RUNTIME_TOKEN": self.token,
            "INPUT_TOKEN": self.token,
            "GITHUB_ACTIONS": "true",
            "GITHUB_ENV": str(self.folder / "commands/env"),
            "GITHUB_OUTPUT": str(self.folder / "commands/output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "commands/summary"),
        }


@contextmanager
def open_scene(folder: Path) -> Iterator[Scene]:
    """Lay a scene out below `folder`, with everything listening."""
    folder.chmod(0o755)
    scene = Scene(folder)
    _write_files(scene)
    with ExitStack() as stack:
        ports = [_listen(scene, stack, family, kind) for family, kind in _LISTENERS]
        sockets = [_listen_at(scene, stack, kind, name) for kind, name in _PATHS]
        abstract = f"verify-ext-attack-{secrets.token_hex(4)}"
        _listen_at(scene, stack, socket.SOCK_STREAM, "\0" + abstract)
        _listen_at(scene, stack, socket.SOCK_DGRAM, "\0" + abstract + "-d")
        decoy = stack.enter_context(_decoy(scene))
        home = folder / "home"
        scene.targets = {
            "tcp": ports[0],
            "udp": ports[1],
            "sockets": sockets,
            "abstract": abstract,
            "home": str(home),
            "readable": [str(home / ".ssh/id_ed25519"), str(home / ".bashrc"), str(home / ".crontab")],
            "commands": [str(folder / "commands" / name) for name in ("env", "output", "summary")],
            "others-file": str(folder / "temporary-of-others/file"),
            "workspace": str(scene.workspace),
            "neighbour": str(scene.workspace / "neighbour.py"),
            "results": str(folder / "results/results.json"),
            "scratch": str(scene.scratch),
            "pids": [decoy.pid],
        }
        yield scene


_DECOY = """
import signal, sys

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, lambda number, _: print(f"signal {number}", flush=True))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def _decoy(scene: Scene) -> Iterator[subprocess.Popen[str]]:
    """Start a process that carries the token and says which signals reach it."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", _DECOY],
        env={"GITHUB_TOKEN": scene.token},
        stdin=pipe,
        stdout=pipe,
        text=True,
        start_new_session=True,
    ) as decoy:
        assert decoy.stdout is not None
        assert decoy.stdout.readline() == "ready\n"
        threading.Thread(
            target=lambda: scene.heard.extend(f"the decoy: {line.strip()}" for line in decoy.stdout or ()),
            daemon=True,
        ).start()
        scene.decoy = decoy
        try:
            yield decoy
        finally:
            assert decoy.stdin is not None
            decoy.stdin.close()


def _decoy_harmed(decoy: subprocess.Popen[str]) -> list[str]:
    if decoy.poll() is not None:
        return ["the decoy was ended"]
    state = next(
        line
        for line in Path(f"/proc/{decoy.pid}/status").read_text().splitlines()
        if line.startswith("State")
    )
    return ["the decoy was stopped"] if "T" in state.split()[1] else []


def _write_files(scene: Scene) -> None:
    for name in (
        "home/.ssh",
        "commands",
        "results",
        "sockets",
        "workspace",
        "temporary",
        "temporary-of-others",
    ):
        (scene.folder / name).mkdir(parents=True)
    for name in ("home/.ssh/id_ed25519", "home/.bashrc", "home/.crontab", "temporary-of-others/file"):
        (scene.folder / name).write_text(f"{scene.secret}\n")
    for name in ("commands/env", "commands/output", "commands/summary"):
        (scene.folder / name).touch()
    (scene.workspace / "neighbour.py").write_text(f"SECRET = {scene.secret!r}\n")


_LISTENERS = ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM))
_PATHS = (
    (socket.SOCK_STREAM, "sockets/docker.sock"),
    (socket.SOCK_DGRAM, "sockets/log"),
    (socket.SOCK_SEQPACKET, "sockets/packets"),
)


def _listen(scene: Scene, stack: ExitStack, family: int, kind: int) -> int:
    listener = stack.enter_context(socket.socket(family, kind))
    listener.bind(("127.0.0.1", 0))
    _hear(scene, listener, f"{family}/{kind}")
    port: int = listener.getsockname()[1]
    return port


def _listen_at(scene: Scene, stack: ExitStack, kind: int, name: str) -> str:
    path = name if name.startswith("\0") else str(scene.folder / name)
    listener = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
    listener.bind(path)
    if not name.startswith("\0"):
        os.chmod(path, 0o777)  # only the jail keeps extensions away
    _hear(scene, listener, name)
    return path


def _hear(scene: Scene, listener: socket.socket, name: str) -> None:
    """Note whoever connects or sends, until the listener is closed."""

    def wait() -> None:
        try:
            while True:
                if listener.type & 0xF == socket.SOCK_DGRAM:
                    scene.heard.append(f"{name}: {listener.recv(100)!r}")
                else:
                    listener.accept()[0].close()
                    scene.heard.append(f"{name}: a connection")
        except OSError:  # closed: the scene is over
            return

    if listener.type & 0xF != socket.SOCK_DGRAM:
        listener.listen()
    threading.Thread(target=wait, daemon=True).start()


# --- the packages ------------------------------------------------------------------------------


def lay_out(scene: Scene, attacks: Sequence[Attack], verifier: int, cache: Path) -> dict[str, Attack | None]:
    """Write all packages, victims between the attackers; return path → attack, None for a victim."""
    targets = {**scene.targets, "cache": str(cache), "pids": [verifier, *scene.targets["pids"]]}
    made: dict[str, Attack | None] = {}
    for number, each in enumerate(attacks):
        package = _copy(scene, f"{number:03}-{each.name}")
        text = MEANS.read_text(encoding="utf-8").replace("TARGETS: dict = {}", f"TARGETS = {targets!r}")
        (package / "means.py").write_text(text, encoding="utf-8")
        each.strike(package)
        made[f"{number:03}-{each.name}"] = each
        waits = each.name == "other-jobs-while-they-run"
        for extra in range(3 if waits else number % VICTIMS_EVERY == 0):
            victim = f"{number:03}-victim-{extra}"
            _copy(scene, victim)
            made[victim] = None
    return made


def _copy(scene: Scene, name: str) -> Path:
    return Path(
        shutil.copytree(
            CANARY_ROOT,
            scene.workspace / name / CANARY_ROOT.name,
            # Attacks act while a package is loaded; what is called by a spec has its own tests.
            ignore=shutil.ignore_patterns("__pycache__", "acceptance.json"),
        )
    )


def add_broken_victim(scene: Scene) -> str:
    """Write a package with a static fault of its own, which nothing may change; return its path."""
    package = _copy(scene, "000-broken")
    replace(package / "harness_config.yaml", "harness_config.v0.1", "harness_config.v9")
    return "000-broken"


# --- the run -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What one run left: results, everything it printed, and what was damaged."""

    results: dict[str, Any]
    said: str
    made: dict[str, Attack | None]
    damage: tuple[str, ...]
    seconds: float


def run(
    scene: Scene, attacks: Sequence[Attack], harness: str, cache: Path, *, python: str = sys.executable
) -> Run:
    """Verify a workspace of attackers and victims, report on it, and look at what is left."""
    _adopt_orphans()
    environment = scene.environment(cache)
    output = scene.targets["results"]
    arguments = [
        "-m",
        "verify_ext",
        "verify",
        "--harness",
        harness,
        "--timeout",
        str(TIMEOUT_S),
        "--output",
        output,
    ]
    started = time.monotonic()
    # Waits for its packages, which are to know its process id.
    verifier = subprocess.Popen(
        [python, "-c", _WAIT, *arguments, "."],
        cwd=scene.workspace,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # an attack on its group must not meet ours
    )
    made = lay_out(scene, attacks, verifier.pid, cache)
    broken = add_broken_victim(scene)
    environments = [each for folder in ("environments", "overlays") for each in _complete(cache / folder)]
    before = _snapshot(scene, environments)
    said, _ = verifier.communicate()
    assert scene.decoy is not None
    damage = [f"process {pid} is left" for pid in _children() if pid != scene.decoy.pid]
    damage += _decoy_harmed(scene.decoy)
    damage += [f"{path} is left" for path in sorted(os.listdir(scene.scratch))]
    damage += [f"heard by {each}" for each in scene.heard]
    damage += _changes(before, _snapshot(scene, environments))
    damage += [f"{path} was made" for path in _TRAPS if os.path.lexists(path)]
    if not os.path.exists(output):
        raise AssertionError(
            f"no results (exit {verifier.returncode}):\n" + said.decode("utf-8", "replace")[-6000:]
        )
    reported = subprocess.run(
        [python, "-m", "verify_ext", "report", output],
        env=environment,
        cwd=scene.workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = said.decode("utf-8", "replace") + reported.stdout.decode("utf-8", "replace")
    damage += [f"obeyed: {line!r}" for line in _commands(text)]
    text += Path(scene.targets["commands"][2]).read_text("utf-8")
    written = Path(output).read_text("utf-8")
    for secret in (scene.token, scene.secret):
        damage += [
            f"a secret is in {name}"
            for name, data in (("the output", text), ("results.json", written))
            if secret in data
        ]
    results = json.loads(written)
    damage += _victims_blamed(results, made, broken)
    return Run(results, text, made, tuple(damage), time.monotonic() - started)


_TRAPS = tuple(
    f"{folder}/{name}"
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/etc/cron.d", "/var/spool/cron/crontabs")
    for name in ("verify-ext-attack", "verify-ext-attack-setup", "verify-ext-attack-name")
)


def _commands(text: str) -> list[str]:
    """Return the lines that a terminal or a workflow runner would obey, and that are not ours."""
    return [
        line[:200]
        for line in text.split("\n")
        if re.search(r"##\[|[\x00-\x08\x0b-\x1f\x7f]", line)
        or (line.lstrip().startswith("::") and not _OURS.match(line))
    ]


_OURS = re.compile(
    r"::(?:error|warning|notice) (?:file=[0-9]{3}-[^,]*,line=\d+,[^:]*)?title=[^:]*::(?!FORGED)"
)


def _adopt_orphans() -> None:
    """Whatever escapes from everybody else becomes a child of this process, where it is found."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def _complete(folder: Path) -> list[Path]:
    """Return what is ready to be used in a cache; other runs may be at work on the rest."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.is_dir() and not path.name.startswith(".")]


def _snapshot(scene: Scene, environments: Sequence[Path]) -> dict[str, tuple[int, ...]]:
    """Return what may not change, with everything about it but the time of the last reading."""
    places = [
        scene.folder / name for name in ("home", "commands", "workspace", "sockets", "temporary-of-others")
    ]
    found: dict[str, tuple[int, ...]] = {}
    paths: list[str | bytes] = [*_all_below([*places, *environments]), *_SYSTEM]
    for path in paths:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        found[os.fsdecode(path)] = (
            status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_nlink, status.st_mtime_ns, status.st_ctime_ns,
            0 if stat.S_ISDIR(status.st_mode) else status.st_size,
        )  # fmt: skip
    return found


_SYSTEM = (
    "/etc",
    "/etc/passwd",
    "/etc/shadow",
    "/bin/sh",
    "/usr/bin/env",
    "/etc/cron.d",
    os.path.realpath(sys.executable),
)


def _all_below(folders: Iterable[Path]) -> Iterator[bytes]:
    for top in folders:
        for folder, folders_below, files in os.walk(os.fsencode(top)):
            yield folder
            for name in (*files, *folders_below):
                yield os.path.join(folder, name)


def _changes(before: dict[str, tuple[int, ...]], after: dict[str, tuple[int, ...]]) -> list[str]:
    names = sorted(set(before) | set(after))
    return [
        f"{name} was {'removed' if name not in after else 'made' if name not in before else 'changed'}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _victims_blamed(results: dict[str, Any], made: dict[str, Attack | None], broken: str) -> list[str]:
    found = {each["path"].partition("/")[0]: each["layers"] for each in results["extensions"]}
    passed = {"L1": "pass", "L2": "pass", "L3": "unchecked"}
    blamed = [
        f"{name}: {found.get(name)}"
        for name, each in made.items()
        if each is None and found.get(name) != passed
    ]
    ids = [
        f"{each['code']}/{each['rule']}"
        for each in results["findings"]
        if each["extension"] == f"{broken}/{CANARY_ROOT.name}"
    ]
    if ids != ["manifest_invalid/schema-version"]:
        blamed.append(f"the static findings of {broken}: {ids}")
    blamed += [
        f"about the run: {each['code']}: {each['message']}"
        for each in results["findings"]
        if each["extension"] is None
    ]
    return blamed


def findings_of(done: Run, name: str) -> tuple[str, ...]:
    """Return the rules that a package broke in a run, each once; notices are left out."""
    mine = [
        each
        for each in done.results["findings"]
        if each["extension"] == f"{name}/{CANARY_ROOT.name}" and each["severity"] != "notice"
    ]
    return tuple(sorted({f"{each['code']}/{each['rule']}" for each in mine}))
