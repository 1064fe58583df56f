"""Reads what is not its own: other processes, the user's files, other jobs."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code

INSPECTION = "isolation_violated/process-inspection"


@attack(INSPECTION)
def environment_of_others(package: Path) -> None:
    """Reads the environment of every process, where the tokens are. None can be read."""
    run_code(package, 'for pid in others(): attempt(read, f"/proc/{pid}/environ")')


@attack(INSPECTION)
def memory_of_others(package: Path) -> None:
    """Reads the memory of every process. Neither map nor memory can be opened."""
    run_code(
        package,
        """
        for pid in others():
            for name in ("maps", "smaps", "mem", "auxv"):
                attempt(read, f"/proc/{pid}/{name}")
        """,
    )


@attack(INSPECTION)
def descriptors_of_others(package: Path) -> None:
    """Opens what other processes have open, through /proc/<pid>/fd, cwd and root. Nothing opens."""
    run_code(
        package,
        """
        for pid in others():
            attempt(os.listdir, f"/proc/{pid}/fd")
            attempt(os.listdir, f"/proc/{pid}/cwd/")
            attempt(os.listdir, f"/proc/{pid}/root/")
            for number in range(12):
                attempt(os.readlink, f"/proc/{pid}/fd/{number}")
                attempt(read, f"/proc/{pid}/fd/{number}")
        """,
    )


@attack()
def environment_of_others_through_libc(package: Path) -> None:
    """The same without Python's open, so that no audit hook sees it. The jail is what holds."""
    run_code(
        package,
        """
        for pid in others():
            for name in ("environ", "mem", "maps", "cmdline", "status"):
                refused("openat", -100, f"/proc/{pid}/{name}".encode(), os.O_RDONLY, by=(EPERM, EACCES, errno.ENOENT))
        """,
    )


@attack()
def memory_of_others_by_system_call(package: Path) -> None:
    """process_vm_readv, process_madvise and kcmp on the verifier, the server, the supervisor. All refused."""
    run_code(
        package,
        """
        room = ctypes.create_string_buffer(4096)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(room), 4096)
        for pid in ours():
            refused("process_vm_readv", pid, vector, 1, vector, 1, 0)
            refused("kcmp", pid, pid, 0, 0, 0)
        """,
    )


@attack()
def debugger(package: Path) -> None:
    """ptrace: attach to and seize the processes of verify-ext; become a tracer's child. All refused."""
    run_code(
        package,
        """
        for pid in ours():
            refused("ptrace", 16, pid, 0, 0)
            refused("ptrace", 0x4206, pid, 0, 0)
        refused("ptrace", 0, 0, 0, 0)
        """,
    )


@attack()
def descriptors_by_pidfd(package: Path) -> None:
    """Takes open files of the verifier with pidfd_getfd. Refused."""
    run_code(
        package,
        """
        for pid in ours():
            handle, _ = syscall("pidfd_open", pid, 0)
            for number in range(12):
                refused("pidfd_getfd", handle, number, 0, by=(EPERM,))
        """,
    )


@attack()
def token_in_own_memory(package: Path) -> None:
    """Searches its own memory, environment and command line for the token. It was never there."""
    run_code(
        package,
        """
        token = "_".join(["gh" + "s", "attack"]).encode()
        for name in ("environ", "cmdline"):
            if token in read(f"/proc/self/{name}", 1 << 20):
                gained(f"the token in {name}")
        if any(token in value.encode("utf-8", "replace") for value in os.environ.values()):
            gained("the token in os.environ")
        memory = open("/proc/self/mem", "rb", buffering=0)
        here = id(token)
        for line in open("/proc/self/maps").read().splitlines():
            span, rights = line.split()[:2]
            start, end = (int(part, 16) for part in span.split("-"))
            if "rw" not in rights or start > 1 << 47:
                continue
            for place in range(start, end, 1 << 22):
                memory.seek(place)
                data = memory.read(min(1 << 22, end - place))
                found = data.find(token + b"_")
                if found >= 0:
                    gained(f"the token at {place + found:x}")
        """,
    )


@attack()
def secrets_of_the_user(package: Path) -> None:
    """Reads and lists the user's home: keys, shell history, configuration. Nothing opens."""
    run_code(
        package,
        """
        for path in TARGETS["readable"]:
            attempt(read, path)
            attempt(os.listdir, os.path.dirname(path))
            refused("openat", -100, path.encode(), os.O_RDONLY, by=(EPERM, EACCES))
        """,
    )


@attack(INSPECTION)
def secrets_of_the_system(package: Path) -> None:
    """Reads password hashes, host keys, the kernel's memory and log. Nothing opens."""
    run_code(
        package,
        """
        for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/proc/kcore", "/dev/mem", "/dev/kmsg", "/proc/keys",
                     "/proc/1/environ", "/sys/kernel/debug", "/root/.bash_history", "/var/log/syslog"):
            error = attempt(read, path)
            if not isinstance(error, OSError):
                gained(f"{path}: {error!r}")
        """,
    )


@attack()
def extensions_in_the_workspace(package: Path) -> None:
    """Reads the source of other extensions, the results and the working folder. Nothing opens."""
    run_code(
        package,
        """
        for folder in (TARGETS["workspace"], os.path.dirname(TARGETS["results"]), "/proc/self/cwd/../../.."):
            attempt(os.listdir, folder)
        attempt(read, TARGETS["neighbour"])
        attempt(read, TARGETS["results"])
        """,
    )


@attack()
def folders_of_other_jobs(package: Path) -> None:
    """Lists every folder above its own to find other jobs, then enters what it finds. Nothing is listed."""
    run_code(
        package,
        """
        folder = own_folder()
        while folder != "/":
            folder = os.path.dirname(folder)
            attempt(os.listdir, folder)
            refused("openat", -100, folder.encode(), os.O_RDONLY | os.O_DIRECTORY, by=(EPERM, EACCES))
        """,
    )


@attack()
def files_by_handle(package: Path) -> None:
    """Opens files by their handle, past all paths (the way out of old containers). Refused."""
    run_code(
        package,
        """
        handle = ctypes.create_string_buffer(256)
        ctypes.memmove(handle, b"\\x80\\0\\0\\0", 4)
        mount = ctypes.c_int()
        refused("name_to_handle_at", -100, b"/", handle, ctypes.byref(mount), 0, by=(EPERM,))
        refused("open_by_handle_at", -100, handle, 0, by=(EPERM,))
        """,
    )


@attack()
def descriptors_that_were_left_open(package: Path) -> None:
    """Looks through all descriptors for a socket or a file of the server. Only its own pipes are there."""
    run_code(
        package,
        """
        import stat
        for number in range(1024):
            try:
                mode = os.fstat(number).st_mode
                where = os.readlink(f"/proc/self/fd/{number}")
            except OSError:
                continue
            if stat.S_ISSOCK(mode) and number < 4:
                gained(f"descriptor {number} is a socket")
            inside = where.startswith((own_folder(), "/dev/null", "pipe:", "anon_inode:", "socket:", "/usr", sys.prefix))
            if number < 4 and not inside:
                gained(f"descriptor {number} is {where}")
        """,
    )


@attack()
def other_jobs_while_they_run(package: Path) -> None:
    """For two seconds looks for jobs that run beside it, to read, change and stop them. The others pass."""
    run_code(
        package,
        """
        import glob
        until = time.monotonic() + 2
        while time.monotonic() < until:
            parent = os.path.dirname(own_folder())
            found = glob.glob(f"{parent}/*") + glob.glob(f"{TARGETS['scratch']}/**", recursive=True)
            if [path for path in found if not path.startswith(own_folder()) and path != f"{TARGETS['scratch']}/"]:
                gained(found)
            for pid in range(os.getpid() - 6, os.getpid() + 6):
                if pid != os.getpid():
                    syscall("pidfd_open", pid, 0)
                    refused("openat", -100, f"/proc/{pid}/cwd".encode(), os.O_RDONLY, by=(EACCES, errno.ENOENT))
            time.sleep(0.01)
        """,
    )
