"""Changes what is not its own: results, workspace, environment, the user's files; and leaves traps."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code

WRITE = "isolation_violated/file-write"


@attack(WRITE)
def results_file(package: Path) -> None:
    """Writes results that say everything passed, before and beside the real ones. Refused."""
    run_code(
        package,
        """
        attempt(write, TARGETS["results"], b'{"gate": {"decision": "allow", "exit_code": 0}}')
        attempt(os.replace, __file__, TARGETS["results"])
        """,
    )


@attack(WRITE)
def files_that_steer_the_workflow(package: Path) -> None:
    """Appends to GITHUB_ENV, GITHUB_OUTPUT, GITHUB_PATH and the job summary. Refused."""
    run_code(package, 'for path in TARGETS["commands"]: attempt(append, path, b"PATH=/tmp/evil")')


@attack(WRITE)
def environment_of_the_harness(package: Path) -> None:
    """Plants a module and a .pth file in site-packages, and overwrites the harness. Refused."""
    run_code(
        package,
        """
        import openjiuwen, sysconfig
        site = sysconfig.get_paths()["purelib"]
        for path in (f"{site}/zz_attack.pth", TARGETS["cache"] + "/environments/x", TARGETS["cache"] + "/overlays/x", f"{site}/sitecustomize.py", openjiuwen.__file__, os.__file__):
            attempt(write, path)
        attempt(os.unlink, openjiuwen.__file__)
        attempt(os.rename, os.path.dirname(openjiuwen.__file__), f"{site}/gone")
        """,
    )


@attack(WRITE)
def interpreter(package: Path) -> None:
    """Replaces the interpreter and programs that others will start. Refused."""
    run_code(
        package,
        """
        for path in (sys.executable, os.path.realpath(sys.executable), "/bin/sh", "/usr/bin/env"):
            attempt(append, path)
            attempt(os.rename, path, path + ".old")
        """,
    )


@attack(WRITE)
def source_of_another_extension(package: Path) -> None:
    """Overwrites, removes and adds files of other extensions and of its own in the workspace. Refused."""
    run_code(
        package,
        """
        attempt(write, TARGETS["neighbour"])
        attempt(os.unlink, TARGETS["neighbour"])
        attempt(os.mkdir, TARGETS["workspace"] + "/new")
        attempt(os.symlink, "/etc/passwd", TARGETS["workspace"] + "/link")
        """,
    )


@attack(WRITE)
def files_of_the_user(package: Path) -> None:
    """Writes to .bashrc, authorized_keys and the crontab, and to /etc. Refused."""
    run_code(
        package,
        """
        for path in (*TARGETS["readable"], TARGETS["home"] + "/.ssh/authorized_keys",
                     "/var/spool/cron/crontabs/verify-ext-attack", "/etc/cron.d/verify-ext-attack"):
            attempt(append, path, b"# written by an extension")
        """,
    )


@attack(WRITE)
def temporary_files_of_others(package: Path) -> None:
    """Writes where others keep temporary files, also in /dev/shm. Refused: its temporary folder is its own."""
    run_code(
        package,
        """
        for folder in (TARGETS["scratch"], "/tmp", "/var/tmp", "/dev/shm", "/run"):
            attempt(write, f"{folder}/verify-ext-attack")
        attempt(write, TARGETS["others-file"])
        """,
    )


@attack(WRITE)
def kernel_settings(package: Path) -> None:
    """Writes to /proc/sys, to its own limits, and to the cgroup that holds it. Refused."""
    run_code(
        package,
        """
        for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/oom_score_adj",
                     "/proc/self/uid_map", "/proc/self/mem", "/sys/fs/cgroup/cgroup.procs"):
            attempt(append, path, b"0")
        """,
    )


@attack()
def writes_through_libc(package: Path) -> None:
    """Creates, overwrites, renames, links and removes by system call, unseen by the hook. All refused."""
    run_code(
        package,
        """
        here, denied = -100, (EPERM, EACCES, errno.EXDEV)
        for path in (TARGETS["neighbour"], TARGETS["readable"][0], TARGETS["commands"][0], TARGETS["others-file"]):
            name = path.encode()
            refused("openat", here, name, os.O_WRONLY, 0, by=denied)
            refused("openat", here, name, os.O_WRONLY | os.O_TRUNC, 0, by=denied)
            refused("openat", here, name + b".new", os.O_WRONLY | os.O_CREAT, 0o666, by=denied)
            refused("truncate", name, 0, by=denied)
            refused("unlinkat", here, name, 0, by=denied)
            refused("renameat2", here, name, here, name + b".old", 0, by=denied)
            refused("renameat2", here, b"/proc/self/exe", here, name, 0, by=(*denied, errno.ENOENT))
            refused("mkdirat", here, name + b".folder", 0o777, by=denied)
            refused("symlinkat", b"/etc/passwd", here, name + b".link", by=denied)
            refused("linkat", here, name, here, b"taken", 0, by=denied)
            refused("mknodat", here, name + b".pipe", 0o10666, 0, by=denied)
        """,
    )


@attack()
def attributes_through_libc(package: Path) -> None:
    """Changes mode, owner, times and attributes of files that it may not open, unseen by the hook.

    Landlock does not know these; nothing changes all the same.
    """
    run_code(
        package,
        """
        here = -100
        times = (ctypes.c_long * 4)(1, 0, 1, 0)
        for path in (TARGETS["readable"][0], TARGETS["neighbour"], TARGETS["commands"][0], sys.executable):
            before = os.stat(path)
            syscall("fchmodat", here, path.encode(), 0o777)
            syscall("fchmodat2", here, path.encode(), 0o777, 0)
            syscall("fchownat", here, path.encode(), 4242, 4242, 0)
            syscall("utimensat", here, path.encode(), times, 0)
            syscall("setxattr", path.encode(), b"user.attack", b"1", 1, 0)
            libc.chmod(path.encode(), 0o777)
            libc.lchown(path.encode(), 4242, 4242)
            libc.utime(path.encode(), times)
            after = os.stat(path)
            if before.st_ctime_ns != after.st_ctime_ns or before.st_mode != after.st_mode:
                gained(f"the attributes of {path}")
        """,
    )


@attack()
def attributes_through_a_descriptor(package: Path) -> None:
    """Opens what it may read (the interpreter, the harness) and changes mode and flags through that. Refused."""
    run_code(
        package,
        """
        import fcntl, openjiuwen
        for path in (openjiuwen.__file__, os.__file__, os.path.realpath(sys.executable)):
            handle = os.open(path, os.O_RDONLY)
            before = os.fstat(handle)
            libc.fchmod(handle, 0o777)
            libc.fchown(handle, 4242, 4242)
            libc.futimens(handle, (ctypes.c_long * 4)(1, 0, 1, 0))
            libc.fsetxattr(handle, b"user.attack", b"1", 1, 0)
            flags = ctypes.c_long()
            if libc.ioctl(handle, 0x80086601, ctypes.byref(flags)) == 0:
                for bit in (0x10, 0x40):  # immutable; no dump, which every owner may set
                    changed = ctypes.c_long(flags.value ^ bit)
                    libc.ioctl(handle, 0x40086602, ctypes.byref(changed))
            if os.fstat(handle).st_ctime_ns != before.st_ctime_ns:
                gained(f"the attributes of {path}")
        """,
    )


@attack(WRITE)
def hard_links_to_secrets(package: Path) -> None:
    """Links a secret, or a file that others use, into its own folder to open it there. Refused."""
    run_code(
        package,
        """
        for number, path in enumerate((*TARGETS["readable"], TARGETS["others-file"], "/etc/shadow")):
            attempt(os.link, path, f"taken-{number}")
        """,
    )


@attack(WRITE)
def links_that_lead_outside(package: Path) -> None:
    """Makes links in its own folder that lead outside, then reads and writes through them. Refused there."""
    run_code(
        package,
        """
        for number, path in enumerate((*TARGETS["readable"], TARGETS["neighbour"], TARGETS["results"], "/etc/shadow")):
            os.symlink(path, f"link-{number}")
            attempt(read, f"link-{number}")
            attempt(write, f"link-{number}")
        os.symlink(TARGETS["home"], "home-of-the-user")
        attempt(os.listdir, "home-of-the-user")
        attempt(write, "home-of-the-user/.profile")
        """,
    )


@attack()
def links_that_change_while_they_are_used(package: Path) -> None:
    """A thread swaps a file of its own for a link to a secret, thousands of times. Nothing is read."""
    run_code(
        package,
        """
        import threading
        write("mine")
        os.symlink(TARGETS["readable"][0], "theirs")
        stop = False
        def swap():
            while not stop:
                libc.syscall(316 if not ARM else 276, -100, b"mine", -100, b"theirs", 2)
        thread = threading.Thread(target=swap)
        thread.start()
        for _ in range(3000):
            try:
                if b"written by" not in read("mine"):
                    gained("a secret through a link")
            except OSError:
                continue
        stop = True
        thread.join()
        """,
    )


@attack()
def set_user_id_program(package: Path) -> None:
    """Makes a copy of a program that runs as its owner, for whoever starts it later. It is not run, nor left."""
    run_code(
        package,
        """
        import shutil, subprocess
        shutil.copy("/bin/sh", "shell")
        os.chmod("shell", 0o6755)
        try:
            done = subprocess.run(["./shell", "-c", "id -u"], capture_output=True, text=True)
        except OSError:
            done = None
        if done and done.returncode == 0 and int(done.stdout) != os.geteuid():
            gained(f"user {done.stdout}")
        """,
    )


@attack()
def devices(package: Path) -> None:
    """Makes the machine's disk and memory as devices in its own folder. Refused."""
    run_code(
        package,
        """
        for kind in (0o20666, 0o60666):
            for device in (os.makedev(1, 1), os.makedev(8, 0), os.makedev(254, 0)):
                refused("mknodat", -100, b"device", kind, device)
        """,
    )


@attack()
def files_that_cannot_be_removed(package: Path) -> None:
    """Makes its files immutable, and folders that nobody may enter. All is removed after the job."""
    run_code(
        package,
        """
        import fcntl
        os.makedirs("kept/inner")
        write("kept/inner/file")
        handle = os.open("kept/inner/file", os.O_RDONLY)
        libc.ioctl(handle, 0x40086602, ctypes.byref(ctypes.c_long(0x10)))
        os.mkdir("closed", 0)
        os.makedirs("shut/inner")
        write("shut/inner/file")
        libc.chmod(b"shut/inner", 0)
        libc.chmod(b"shut", 0)
        libc.chmod(own_folder().encode() + b"/work", 0)
        """,
    )


@attack("resource_limit_exceeded/disk")
def folders_without_end(package: Path) -> None:
    """Nests folders deeper than a path may be long and a recursion may go. All is removed after the job."""
    run_code(
        package,
        """
        for _ in range(1500):
            libc.mkdir(b"deeper-and-deeper", 0o755)
            os.chdir("deeper-and-deeper")
        write("at-the-bottom")
        os.chdir(own_folder())
        time.sleep(20)
        """,
    )


@attack()
def odd_names(package: Path) -> None:
    """Files whose names hold line breaks, commands, invalid UTF-8, or all that a name can hold. All is removed."""
    run_code(
        package,
        """
        for name in (b"a\\n::error::b", b"##[error]x", b"\\xff\\xfe", b"-rf", b" ", b"\\x1b[2J", b"n" * 255, b"*"):
            write(os.path.join(b".", name))
            write(os.path.join(os.fsencode(own_folder()), b"tmp", name))
        """,
    )


@attack()
def copy_of_itself(package: Path) -> None:
    """Rewrites its own files in its copy, so that the next job would load another program. The next job does not."""
    run_code(
        package,
        """
        mark = os.path.join(os.path.dirname(__file__), "marked")
        if os.path.exists(mark) or "rewritten" in read(__file__, 1 << 20).decode().split("# end")[1:][:1]:
            gained("an earlier job's copy")
        write(mark)
        append(__file__, b"# end rewritten")
        """,
    )


@attack(WRITE)
def environment_by_mode(package: Path) -> None:
    """Changes modes, owners and times of the user's files with Python's own functions. Nothing changes."""
    run_code(
        package,
        """
        for path in (TARGETS["readable"][0], TARGETS["neighbour"], sys.executable):
            before = os.stat(path).st_ctime_ns
            for change in (lambda: os.chmod(path, 0o777), lambda: os.chown(path, 4242, 4242), lambda: os.utime(path, (1, 1))):
                try:
                    change()
                except OSError:
                    continue
            if os.stat(path).st_ctime_ns != before:
                gained(f"the attributes of {path}")
        """,
    )
