"""Acts on other processes, multiplies, and stays when it should be gone."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code

SIGNAL = "isolation_violated/signal"
TOO_MANY = "resource_limit_exceeded/processes"


@attack(SIGNAL)
def ends_the_verifier(package: Path) -> None:
    """Sends SIGKILL to the supervisor, the server and the verifier, and to their groups. Refused."""
    run_code(
        package,
        """
        for pid in ours():
            attempt(os.kill, pid, 9)
            attempt(os.killpg, os.getpgid(pid), 9)
        """,
    )


@attack(SIGNAL)
def stops_the_verifier(package: Path) -> None:
    """Sends SIGSTOP, SIGTERM and SIGINT to them, so that they wait for ever or give up. Refused."""
    run_code(package, "for pid in ours():\n    for number in (19, 15, 2, 1): attempt(os.kill, pid, number)")


@attack()
def signals_by_system_call(package: Path) -> None:
    """kill, tgkill, rt_sigqueueinfo, pidfd_send_signal and SIGIO to them, unseen by the hook. All refused."""
    run_code(
        package,
        """
        import fcntl
        word = ctypes.create_string_buffer(128)
        word[8:12] = (-1).to_bytes(4, sys.byteorder, signed=True)
        for pid in ours():
            for number in (9, 19):
                refused("kill", pid, number)
                refused("tgkill", pid, pid, number)
                refused("rt_sigqueueinfo", pid, number, word)
                handle, _ = syscall("pidfd_open", pid, 0)
                refused("pidfd_send_signal", handle, number, 0, 0, by=(EPERM, errno.EBADF))
            read_end, write_end = os.pipe()
            try:  # allowed or not, the signal must not arrive
                fcntl.fcntl(read_end, fcntl.F_SETOWN, pid)
                fcntl.fcntl(read_end, 10, 19)  # F_SETSIG
                fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC)
                os.write(write_end, b"now")
            except OSError:
                continue
        """,
    )


@attack(SIGNAL)
def signals_to_everybody(package: Path) -> None:
    """kill(-1), with a signal that harms nobody if it arrives. It reaches nobody."""
    run_code(
        package,
        """
        os.kill(-1, 23)  # whoever got it would say so; the call itself says nothing
        syscall("kill", -1, 23)
        """,
    )


@attack()
def limits_of_others(package: Path) -> None:
    """Takes the verifier's right to open files and to use the processor (prlimit), which ends it. Refused."""
    run_code(
        package,
        """
        nothing = (ctypes.c_ulong * 2)(0, 0)
        for pid in ours():
            for limit in (0, 7):  # processor time, open files
                refused("prlimit64", pid, limit, nothing, 0)
        """,
    )


@attack()
def processor_of_others(package: Path) -> None:
    """Gives the verifier the lowest priority and one processor, for ever. Refused."""
    run_code(
        package,
        """
        import struct
        idle = struct.pack("i", 0)
        for pid in ours():
            refused("setpriority", 0, pid, 19)
            refused("setpriority", 2, os.getuid(), 19)
            refused("sched_setscheduler", pid, 5, idle)
            refused("sched_setaffinity", pid, 8, (1).to_bytes(8, sys.byteorder))
            refused("ioprio_set", 1, pid, 3 << 13)
            refused("sched_setattr", pid, struct.pack("IIQiIQQQ", 48, 5, 0, 19, 0, 0, 0, 0), 0)
        """,
    )


@attack(TOO_MANY)
def fork_bomb(package: Path) -> None:
    """Forks without end, each child again. All are ended, and the package is blamed."""
    run_code(
        package,
        """
        until = time.monotonic() + 4  # so that it is over even where nobody ends it
        while time.monotonic() < until:
            try:
                os.fork()
            except OSError:
                time.sleep(0.05)
        os._exit(0)
        """,
    )


@attack(TOO_MANY)
def bomb_of_small_programs(package: Path) -> None:
    """Starts shells that start shells: hundreds before anybody counts. All are ended."""
    run_code(
        package,
        """
        import subprocess
        script = '[ "$2" = 2 ] || for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; '
        script += 'do sh -c "$1" sh "$1" $(($2+1)) & done; sleep 20'
        subprocess.run(["sh", "-c", script, "sh", script, "0"])
        """,
    )


@attack("resource_limit_exceeded/threads")
def thread_bomb(package: Path) -> None:
    """Starts threads without end, with small stacks. It is ended."""
    run_code(
        package,
        """
        import threading
        threading.stack_size(65536)
        event = threading.Event()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                threading.Thread(target=event.wait, daemon=True).start()
            except RuntimeError:
                time.sleep(0.05)
        """,
    )


@attack()
def stays_after_the_job(package: Path) -> None:
    """Forks twice, leads a session of its own, and later writes and signals. It is gone with the job."""
    run_code(
        package,
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                libc.prctl(1, 0)
                os.close_range(0, 1024) if hasattr(os, "close_range") else os.closerange(0, 1024)
                for number in range(1, 32):
                    try:
                        __import__("signal").signal(number, 1)
                    except (OSError, ValueError):
                        continue
                time.sleep(4)
                for action, path in ((write, TARGETS["others-file"]), (write, own_folder() + "/late")):
                    try:
                        action(path)
                    except OSError:
                        continue
                time.sleep(600)
            os._exit(0)
        os.wait()
        """,
    )


@attack()
def keeps_the_descriptors(package: Path) -> None:
    """Leaves a child that holds the pipes for output and result open. Nobody waits for it."""
    run_code(
        package,
        """
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        """,
    )


@attack()
def many_who_stay(package: Path) -> None:
    """Leaves a dozen processes in sessions of their own that keep replacing themselves. None is left."""
    run_code(
        package,
        """
        for _ in range(12):
            if os.fork() == 0:
                os.setsid()
                for _ in range(200):
                    if os.fork():
                        os._exit(0)
                    time.sleep(0.2)
                os._exit(0)
        """,
    )


@attack("extension_timed_out/deadline")
def stops_itself(package: Path) -> None:
    """Stops itself with SIGSTOP and ignores all signals: nothing wakes it. Its deadline does."""
    run_code(
        package,
        """
        import signal
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
        """,
    )


@attack()
def traced_child(package: Path) -> None:
    """Has a child trace it, so that nobody else can end it. Refused."""
    run_code(
        package,
        """
        child = os.fork()
        if child == 0:
            os._exit(0 if syscall("ptrace", 16, os.getppid(), 0, 0)[0] == -1 else 7)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7:
            gained("a tracer")
        """,
    )
