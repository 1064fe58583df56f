"""Copied into every hostile package: what it knows of its surroundings, and how it tries things.

Runs in the harness's interpreter, so it imports nothing of ours.
"""

import ctypes
import errno
import os
import platform
import sys  # noqa: F401 - for the attacks, which take everything that is here
import time  # noqa: F401

TARGETS: dict = {}  # filled in where the package is made (scene.py)

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
EPERM, EACCES, ENOSYS, ESRCH = errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ESRCH

# name: (x86_64, aarch64)
NUMBERS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "sched_setparam": (142, 118), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "socket": (41, 198), "bind": (49, 200), "socketpair": (53, 199), "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282), "unshare": (272, 97), "clone": (56, 220), "clone3": (435, 435), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "mount_setattr": (442, 442), "keyctl": (250, 219),
    "add_key": (248, 217), "bpf": (321, 280), "perf_event_open": (298, 241), "init_module": (175, 105),
    "finit_module": (313, 273), "kexec_load": (246, 104), "reboot": (169, 142), "swapon": (167, 224),
    "sethostname": (170, 161), "syslog": (103, 116), "acct": (163, 89), "quotactl": (179, 60),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186), "mq_open": (240, 180), "setresuid": (117, 147), "setgroups": (116, 159),
    "capset": (126, 91), "personality": (135, 92), "kcmp": (312, 272), "process_madvise": (440, 440),
    "openat": (257, 56), "unlinkat": (263, 35), "renameat2": (316, 276), "mkdirat": (258, 34), "truncate": (76, 45),
    "symlinkat": (266, 36), "linkat": (265, 37), "mknodat": (259, 33), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "fchownat": (260, 54), "utimensat": (280, 88), "setxattr": (188, 5), "lookup_dcookie": (212, 18),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "file_setattr": (469, 469), "setxattrat": (463, 463),
}  # fmt: skip


class Gained(BaseException):
    """Something worked that must not. It ends up in the verdict, where nobody can overlook it."""


def gained(what):
    raise Gained(str(what)[:500])


def attempt(action, *arguments):
    """Do what must be refused: return the error, or say what was gained."""
    try:
        result = action(*arguments)
    except Exception as error:
        return error
    return gained(f"{getattr(action, '__name__', action)}{arguments!r:.200} gave {result!r:.200}")


def syscall(name, *arguments):
    """Make a system call without libc's or Python's knowledge; return (result, errno)."""
    ctypes.set_errno(0)
    number = NUMBERS[name][ARM] if isinstance(name, str) else name
    result = libc.syscall(ctypes.c_long(number), *(_word(each) for each in arguments))
    return result, ctypes.get_errno()


def _word(value):
    return ctypes.c_long(value) if isinstance(value, int) else value


def refused(name, *arguments, by=(EPERM, EACCES, ENOSYS, ESRCH)):
    """Make a system call that must be refused; anything else is a gain."""
    result, error = syscall(name, *arguments)
    if result != -1 or error not in by:
        gained(f"system call {name}{arguments!r:.100} gave {result}, {errno.errorcode.get(error, error)}")


def read(path, size=4096):
    with open(path, "rb") as stream:
        return stream.read(size)


def write(path, data=b"written by an extension\n"):
    with open(path, "wb") as stream:
        stream.write(data)


def append(path, data=b"written by an extension\n"):
    with open(path, "ab") as stream:
        stream.write(data)


def others():
    """Return the numbers of all processes that are not this one or below it, as far as /proc shows them."""
    mine = {os.getpid()}
    return sorted({supervisor(), server(), *TARGETS["pids"], *_shown()} - mine)


def _shown():
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:  # the jail does not even show them
        return [1, *range(max(2, os.getpid() - 60), os.getpid())]


def supervisor():
    return os.getppid()


def server():
    """The server leads the session that its supervisors are in."""
    return os.getsid(os.getppid())


def ours():
    """The processes of verify-ext: those whose end, or whose memory, is worth most."""
    return [supervisor(), server(), *TARGETS["pids"]]


def own_folder():
    """The job's scratch; its parent is where the folders of other jobs are."""
    return os.path.dirname(os.environ["TMPDIR"])


def say(payload, size=None):
    """Write a frame on the descriptor for results, in the words of worker/protocol.py."""
    data = b"%d\n" % (len(payload) if size is None else size) + payload
    while data:
        data = data[os.write(3, data) :]
