"""Asks the kernel for more rights, other namespaces, and interfaces with a long list of holes."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code


@attack()
def becomes_root(package: Path) -> None:
    """Sets its user, groups and capabilities back. Refused, or it stays who it was without a capability."""
    run_code(
        package,
        """
        user = os.getresuid()
        syscall("setresuid", 0, 0, 0)
        if os.getresuid() != user:
            gained("root")
        groups = (ctypes.c_uint * 1)(0)
        refused("setgroups", 1, groups)
        header = (ctypes.c_uint * 2)(0x20080522, 0)
        all_of_them = (ctypes.c_uint * 6)(*[0xFFFFFFFF] * 6)
        refused("capset", header, all_of_them)
        for line in read("/proc/self/status").decode().splitlines():
            name, _, value = line.partition(":")
            if name in ("CapEff", "CapPrm", "CapInh", "CapAmb") and int(value, 16):
                gained(line)
            if name == "NoNewPrivs" and value.strip() != "1":
                gained(line)
        """,
    )


@attack()
def becomes_root_by_a_program(package: Path) -> None:
    """Starts su, sudo, mount, newgidmap and ping, which run as root. They give it nothing."""
    run_code(
        package,
        """
        import subprocess
        user = os.geteuid()
        for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["/usr/bin/newuidmap", "1"], ["umount", "/tmp"]):
            try:
                done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            except OSError:
                continue
            if done.returncode == 0 and done.stdout.strip() != str(user):
                gained(f"{command}: {done.stdout}")
        """,
    )


@attack()
def namespaces(package: Path) -> None:
    """unshare, clone, clone3 and setns, for a user namespace in which it would be root. All refused."""
    run_code(
        package,
        """
        for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x02000000, 0x80):
            refused("unshare", flag)
            if flag != 0x80:  # in clone that bit says something else
                result, error = syscall("clone", flag | 17, 0, 0, 0, 0)
                if result == 0:
                    os._exit(0)
                if result > 0 or error != EPERM:
                    gained(f"clone with {flag:x}: {result}, {error}")
        arguments = (ctypes.c_ulong * 11)(0x10000000, 0, 0, 0, 17)
        result, error = syscall("clone3", arguments, 88)
        if result == 0:
            os._exit(0)
        if result > 0 or error != ENOSYS:
            gained(f"clone3: {result}, {error}")
        handle = os.open("/proc/self/ns/net", os.O_RDONLY) if os.path.exists("/proc/self/ns/net") else 0
        refused("setns", handle, 0)
        """,
    )


@attack()
def mounts(package: Path) -> None:
    """Mounts over the workspace, moves the root, and the newer calls for the same. All refused."""
    run_code(
        package,
        """
        here, place = -100, TARGETS["workspace"].encode()
        refused("mount", b"none", place, b"tmpfs", 0, 0, by=(EPERM,))
        refused("mount", own_folder().encode(), place, 0, 4096, 0, by=(EPERM,))
        refused("umount2", place, 2, by=(EPERM,))
        refused("pivot_root", b".", b".", by=(EPERM,))
        refused("chroot", own_folder().encode(), by=(EPERM,))
        refused("fsopen", b"tmpfs", 0, by=(EPERM,))
        refused("open_tree", here, b"/", 1, by=(EPERM,))
        refused("open_tree_attr", here, b"/", 1, 0, 0)
        refused("mount_setattr", here, b"/", 0, ctypes.create_string_buffer(32), 32, by=(EPERM,))
        """,
    )


@attack()
def keys(package: Path) -> None:
    """Reads and adds keys of the session, which are shared between processes. Refused."""
    run_code(
        package,
        """
        refused("keyctl", 0, -3, 1, by=(EPERM,))
        refused("keyctl", 1, 0, by=(EPERM,))
        refused("add_key", b"user", b"attack", b"1", 1, -3, by=(EPERM,))
        """,
    )


@attack()
def wide_interfaces(package: Path) -> None:
    """bpf, perf, userfaultfd, io_uring, fanotify: each has been a way out. All refused."""
    run_code(
        package,
        """
        room = ctypes.create_string_buffer(256)
        for name, *arguments in (("bpf", 0, room, 120), ("perf_event_open", room, 0, -1, -1, 0), ("userfaultfd", 1),
                                 ("io_uring_setup", 4, room), ("fanotify_init", 0, 0), ("lookup_dcookie", 0, room, 256)):
            refused(name, *arguments, by=(EPERM, ENOSYS))
        """,
    )


@attack()
def machine(package: Path) -> None:
    """Loads modules, restarts, renames the machine, reads the kernel's log. All refused."""
    run_code(
        package,
        """
        name = os.uname().nodename.encode()
        refused("init_module", 0, 0, b"", by=(EPERM,))
        refused("finit_module", -1, b"", 0, by=(EPERM,))
        refused("kexec_load", 0, 0, 0, 0, by=(EPERM,))
        refused("reboot", 0, 0, 0, 0, by=(EPERM,))
        refused("swapon", b"/nowhere", 0, by=(EPERM,))
        refused("sethostname", name, len(name), by=(EPERM,))
        refused("syslog", 10, 0, 0, by=(EPERM,))
        refused("acct", 0, by=(EPERM,))
        refused("quotactl", 0, 0, 0, 0, by=(EPERM,))
        refused("personality", 0x0040000, by=(EPERM,))
        """,
    )


@attack()
def memory_that_nobody_counts(package: Path) -> None:
    """Shared segments, semaphores, queues and memory files, which outlive processes or escape a count. Refused."""
    run_code(
        package,
        """
        for name, *arguments in (("shmget", 0, 4096, 0o1777), ("semget", 0, 1, 0o1777), ("msgget", 0, 0o1777),
                                 ("mq_open", b"attack", 0o101, 0o666, 0), ("memfd_create", b"attack", 0),
                                 ("memfd_secret", 0)):
            refused(name, *arguments, by=(EPERM, ENOSYS))
        """,
    )


@attack()
def memory_of_others_by_page(package: Path) -> None:
    """Moves the memory pages of other processes between nodes. Refused."""
    run_code(
        package,
        """
        nodes = (ctypes.c_ulong * 1)(1)
        for pid in ours():
            refused("migrate_pages", pid, 64, nodes, nodes)
            refused("move_pages", pid, 0, 0, 0, 0, 0)
        """,
    )


@attack()
def numbers_of_another_abi(package: Path) -> None:
    """Makes forbidden calls by their x32 numbers, which a careless filter does not know. Refused."""
    run_code(
        package,
        """
        if not ARM:
            for number in (101, 521, 41, 165, 272, 310, 539, 425):
                refused(0x40000000 | number, 0, 0, 0, 0, 0)
        """,
    )


@attack("extension_crashed/no-result")
def calls_of_a_32_bit_program(package: Path) -> None:
    """Makes a system call as 32-bit programs do, where all numbers differ. The process is ended at once."""
    run_code(
        package,
        """
        import mmap
        if ARM:
            os.kill(os.getpid(), 31)
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
        code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        gained(f"a 32-bit call: {code()}")
        """,
    )


@attack()
def takes_the_filter_off(package: Path) -> None:
    """Sets no_new_privs, the filter and its rules back, or puts others over them. Refused, or only stricter."""
    run_code(
        package,
        """
        if libc.prctl(38, 0, 0, 0, 0) == 0 and libc.prctl(39, 0, 0, 0, 0) == 0:
            gained("new privileges")
        libc.prctl(22, 0, 0, 0, 0)
        if libc.prctl(21, 0, 0, 0, 0) != 2:
            gained("no filter")
        allow = (ctypes.c_ulong * 1)(0x7FFF000000000006)
        program = (ctypes.c_ulong * 2)(1, ctypes.addressof(allow))
        libc.prctl(22, 2, program, 0, 0)
        refused("ptrace", 16, supervisor(), 0, 0)
        refused("socket", 2, 1, 0)
        handle = libc.syscall(444, (ctypes.c_ulong * 3)(1 << 11, 0, 0), 24, 0)
        libc.syscall(446, handle, 0)
        attempt(read, TARGETS["readable"][0])
        """,
    )
