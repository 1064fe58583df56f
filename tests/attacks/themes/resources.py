"""Uses up what others need: memory, disk, descriptors, logs. Each is ended, and blamed for it."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code

MEMORY = "resource_limit_exceeded/memory-of-all"
DISK = "resource_limit_exceeded/disk"


@attack("resource_limit_exceeded/memory")
def more_memory_than_there_is(package: Path) -> None:
    """Asks for more memory than any machine has. It is told no."""
    run_code(package, "HUGE = bytearray(1 << 45)")


@attack(MEMORY)
def memory_in_one_process(package: Path) -> None:
    """Fills memory step by step and keeps it. It is ended."""
    run_code(
        package,
        """
        kept = []
        for _ in range(96):
            kept.append(b"x" * (1 << 26))
        time.sleep(20)
        """,
    )


@attack(MEMORY)
def memory_in_many_processes(package: Path) -> None:
    """Twelve children, each below every limit of its own. All of them together are ended."""
    run_code(
        package,
        """
        for _ in range(12):
            if os.fork() == 0:
                kept = [b"x" * (1 << 25) for _ in range(16)]
                time.sleep(20)
                os._exit(0)
        time.sleep(20)
        """,
    )


@attack(MEMORY)
def memory_that_was_shared(package: Path) -> None:
    """Forty children write to memory that they inherited, which makes copies that no size shows. Ended."""
    run_code(
        package,
        """
        import mmap
        inherited = mmap.mmap(-1, 1 << 27, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        inherited.write(b"x" * (1 << 27))
        for _ in range(40):
            if os.fork() == 0:
                for place in range(0, 1 << 27, 4096):
                    inherited[place] = 1
                time.sleep(20)
                os._exit(0)
        time.sleep(20)
        """,
    )


@attack(MEMORY)
def memory_shared_between_processes(package: Path) -> None:
    """Fills shared memory, which belongs to no single process. It is ended."""
    run_code(
        package,
        """
        import mmap
        kept = []
        for _ in range(48):
            kept.append(mmap.mmap(-1, 1 << 27))
            kept[-1].write(b"x" * (1 << 27))
        time.sleep(20)
        """,
    )


@attack(DISK)
def disk_by_many_files(package: Path) -> None:
    """Writes file after file. It is ended, and its folder removed."""
    run_code(
        package,
        """
        data = b"x" * (1 << 24)
        for number in range(256):
            try:
                write(f"file-{number}", data)
            except OSError:
                break
        time.sleep(20)
        """,
    )


@attack(DISK)
def disk_by_files_without_a_name(package: Path) -> None:
    """Removes each file while it is open: it takes room, and no folder shows it. It is ended."""
    run_code(
        package,
        """
        data, kept = b"x" * (1 << 24), []
        for _ in range(256):
            try:
                kept.append(open("gone", "wb"))
                kept[-1].write(data)
                kept[-1].flush()
            except OSError:
                break
            finally:
                os.unlink("gone")
        time.sleep(20)
        """,
    )


@attack(DISK)
def more_files_than_the_disk_can_hold(package: Path) -> None:
    """Makes empty files, links and folders without end. It is ended."""
    run_code(
        package,
        """
        os.mkdir("many")
        write("one")
        for number in range(400_000):
            try:
                os.symlink("one", f"many/{number}")
            except OSError:
                break
        time.sleep(20)
        """,
    )


@attack()
def one_huge_file(package: Path) -> None:
    """Writes one file without end, and one that is all hole. Both are refused beyond the limit."""
    run_code(
        package,
        """
        handle = os.open("huge", os.O_RDWR | os.O_CREAT)
        for action, *arguments in ((os.truncate, "huge", 1 << 43), (os.ftruncate, handle, 1 << 43),
                                   (os.pwrite, handle, b"x", 1 << 40), (os.posix_fallocate, handle, 0, 1 << 36)):
            error = attempt(action, *arguments)
            if not isinstance(error, OSError):
                gained(error)
        """,
    )


@attack("resource_limit_exceeded/output")
def log_flood(package: Path) -> None:
    """Prints without end, on both streams. It is ended, and little of it kept."""
    run_code(
        package, 'while True:\n    os.write(1, b"flood\\n" * 20000)\n    os.write(2, b"flood\\n" * 20000)'
    )


@attack("resource_limit_exceeded/result")
def result_flood(package: Path) -> None:
    """Writes to the descriptor for results without end. It is ended."""
    run_code(package, 'while True:\n    os.write(3, b"x" * 65536)')


@attack()
def descriptors(package: Path) -> None:
    """Opens files until no more can be opened. The limit is its own, and it goes on."""
    run_code(
        package,
        """
        kept = []
        try:
            while len(kept) < 100_000:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        if len(kept) >= 100_000:
            gained(f"{len(kept)} descriptors")
        for handle in kept:
            os.close(handle)
        """,
    )


@attack()
def limits_of_its_own(package: Path) -> None:
    """Raises its own limits again. Refused."""
    run_code(
        package,
        """
        import resource
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_CORE):
            attempt(resource.setrlimit, limit, (1 << 50, 1 << 50))
        """,
    )
