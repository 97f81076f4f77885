"""Processors that misbehave, and some that tell on their worker; loaded in worker processes."""

import ctypes
import errno
import mmap
import os
import platform
import socket
import subprocess
import threading
import time
from collections.abc import Callable

from gossamer.vision.processor import Item, Processor
from gossamer.vision.settings import WorkerSettings

HERE = "tests.support.processors"


class Size(Processor):
    keyword = "SIZE"
    description = "width and height of an image"
    returns = "json"

    def process(self, item: Item) -> object:
        height, width = item.image().shape[:2]
        return [width, height]


class Count(Processor):
    """How often this worker was asked, and how often the image was decoded since."""

    keyword = "COUNT1"
    description = "counts what it is asked"
    returns = "json"

    def start(self, settings: WorkerSettings) -> None:
        self.asked = 0

    def process(self, item: Item) -> object:
        self.asked += 1
        return {"pid": os.getpid(), "asked": self.asked}


class CountAgain(Count):
    keyword = "COUNT2"

    def process(self, item: Item) -> object:
        return item.once("counted", lambda: super(CountAgain, self).process(item))


class CountShared(CountAgain):
    keyword = "COUNT3"


class Echo(Processor):
    keyword = "ECHO"
    description = "what it is given"
    returns = "json"

    def process(self, item: Item) -> object:
        return [item.topic, item.payload.decode(), item.properties]


def _segfault() -> object:
    ctypes.string_at(0)
    return None


def _spin() -> object:
    while True:
        pass


def _sleep() -> object:
    time.sleep(600)
    return None


def _hog() -> object:
    return len(bytearray(4 << 30))


def _refused(act: object) -> object:
    """What the system says of it."""
    try:
        act()  # type: ignore[operator]
    except OSError as error:
        return f"refused {error.errno}"
    return "allowed"


def _thread() -> object:
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(1))
    thread.start()
    thread.join()
    return answers


# Raw calls by which a process changes files, reaches the network, other processes or the kernel,
# as numbers on x86_64 and on aarch64. The arguments do harm to `path` alone, a file of the test's
# own, if the call is let through; all others then fail with another error than EPERM, or do
# nothing. `parent` is the broker.
HARM: dict[str, tuple[int | None, int | None, tuple[int | str, ...]]] = {
    "open to write": (2, None, ("path", os.O_WRONLY)),
    "open to read": (2, None, ("path", os.O_RDONLY)),
    "creat": (85, None, ("path", 0o600)),
    "openat to write": (257, 56, (-100, "path", os.O_RDWR)),
    "openat to make": (257, 56, (-100, "other", os.O_WRONLY | os.O_CREAT, 0o600)),
    "openat2": (437, 437, (-100, "path", 0, 24)),
    "open_by_handle_at": (304, 265, (-100, 0, 0)),
    "truncate": (76, 45, ("path", 0)),
    "ftruncate": (77, 46, (1, 0)),
    "fallocate": (285, 47, (1, 0, 0, 1)),
    "unlink": (87, None, ("path",)),
    "unlinkat": (263, 35, (-100, "path", 0)),
    "rename": (82, None, ("path", "other")),
    "renameat": (264, None, (-100, "path", -100, "other")),
    "renameat2": (316, 276, (-100, "path", -100, "other", 0)),
    "link": (86, None, ("path", "other")),
    "linkat": (265, 37, (-100, "path", -100, "other", 0)),
    "symlink": (88, None, ("path", "other")),
    "symlinkat": (266, 36, ("path", -100, "other")),
    "mkdir": (83, None, ("other", 0o700)),
    "mkdirat": (258, 34, (-100, "other", 0o700)),
    "rmdir": (84, None, ("path",)),
    "mknod": (133, None, ("other", 0o100600, 0)),
    "mknodat": (259, 33, (-100, "other", 0o100600, 0)),
    "chmod": (90, None, ("path", 0o777)),
    "fchmodat": (268, 53, (-100, "path", 0o777)),
    "chown": (92, None, ("path", 1, 1)),
    "fchownat": (260, 54, (-100, "path", 1, 1, 0)),
    "utimensat": (280, 88, (-100, "path", 0, 0)),
    "setxattr": (188, 5, ("path", "user.x", "v", 1, 0)),
    "chdir": (80, 49, ("folder",)),
    "chroot": (161, 51, ("other",)),
    "mount": (165, 40, ("folder", "other", "tmpfs", 0, 0)),
    "umount2": (166, 39, ("other", 0)),
    "pivot_root": (155, 41, ("other", "other")),
    "move_mount": (429, 429, (-100, "other", -100, "other", 0)),
    "swapon": (167, 224, ("other", 0)),
    "sync_file_range": (277, 84, (1, 0, 0, 0)),
    "memfd_create": (319, 279, ("name", 0)),
    "inotify_init1": (294, 26, (0,)),
    "socket": (41, 198, (socket.AF_INET, socket.SOCK_STREAM, 0)),
    "socket of a file": (41, 198, (socket.AF_UNIX, socket.SOCK_STREAM, 0)),
    "socketpair": (53, 199, (socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)),
    "connect": (42, 203, (1, 0, 0)),
    "bind": (49, 200, (1, 0, 0)),
    "sendto": (44, 206, (1, 0, 0, 0, 0, 0)),
    "sendmsg": (46, 211, (1, 0, 0)),
    "fork": (57, None, ()),
    "vfork": (58, None, ()),
    "clone without a thread": (56, 220, (17, 0, 0, 0, 0)),
    "execve": (59, 221, ("/bin/true", 0, 0)),
    "execveat": (322, 281, (-100, "/bin/true", 0, 0, 0)),
    "ptrace": (101, 117, (16, "parent", 0, 0)),
    "process_vm_readv": (310, 270, ("parent", 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, 271, ("parent", 0, 0, 0, 0, 0)),
    "pidfd_open": (434, 434, ("parent", 0)),
    "pidfd_send_signal": (424, 424, (1, 0, 0, 0)),
    "kill": (62, 129, ("parent", 0)),
    "tkill": (200, 130, ("parent", 0)),
    "tgkill": (234, 131, ("parent", "parent", 0)),
    "rt_sigqueueinfo": (129, 138, ("parent", 0, 0)),
    "prlimit of another": (302, 261, ("parent", 7, 0, 0)),
    "prlimit of its memory": (302, 261, (0, 999, "limit", 0)),
    "sched_setaffinity": (203, 122, ("parent", 8, 0)),
    "setpriority": (141, 140, (9, "parent", 0)),
    "fcntl": (72, 25, (1, 3, 0)),
    "ioctl": (16, 29, (1, 0x5401, 0)),
    "dup": (32, 23, (1,)),
    "prctl": (157, 167, (4, 1, 0, 0, 0)),
    "seccomp": (317, 277, (1, 0, 0)),
    "setuid": (105, 146, (0,)),
    "setgid": (106, 144, (0,)),
    "capset": (126, 91, (0, 0)),
    "unshare": (272, 97, (0,)),
    "setns": (308, 268, (1, 0)),
    "bpf": (321, 280, (0, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, 0, 0, 0)),
    "io_uring_setup": (425, 425, (1, 0)),
    "userfaultfd": (323, 282, (0,)),
    "add_key": (248, 217, ("user", "name", 0, 0, 0)),
    "keyctl": (250, 219, (0, 0, 0)),
    "shmget": (29, 194, (0, 0, 0o1600)),
    "mq_open": (240, 180, ("no such queue", 0, 0, 0)),
    "init_module": (175, 105, (0, 0, "")),
    "kexec_load": (246, 104, (0, 0, 0, 0)),
    "syslog": (103, 116, (10, 0, 0)),
    "sethostname": (170, 161, ("name", 1 << 20)),
    "settimeofday": (164, 170, (0, 0)),
    "clock_settime": (227, 112, (0, 0)),
    "landlock_create_ruleset": (444, 444, (0, 0, 1)),
}


def _harm(path: str) -> object:
    """Which of the calls were not refused, by name: what each returned instead."""
    column = ("x86_64", "aarch64").index(platform.machine())
    words: dict[int | str, bytes | int] = {
        "path": path.encode(),
        "other": path.encode() + b".other",
        "folder": os.path.dirname(path).encode(),
        "parent": os.getppid(),
        "limit": bytes(16),
    }
    let_through: dict[str, list[int]] = {}
    libc = ctypes.CDLL(None, use_errno=True)
    for name, (here, there, arguments) in HARM.items():
        number = (here, there)[column]
        if number is None:
            continue
        given = [words.get(each, each) for each in arguments]
        texts = [each.encode() if isinstance(each, str) else each for each in given]
        passed = [ctypes.c_long(e) if isinstance(e, int) else ctypes.c_char_p(e) for e in texts]
        ctypes.set_errno(0)
        answer = libc.syscall(ctypes.c_long(number), *passed)
        if answer != -1 or ctypes.get_errno() != errno.EPERM:
            let_through[name] = [answer, ctypes.get_errno()]
    return let_through


ACTS: dict[str, Callable[[], object]] = {
    "fine": lambda: 1,
    "segfault": _segfault,
    "exit": lambda: os._exit(3),
    "spin": _spin,
    "sleep": _sleep,
    "hog": _hog,
    "raise": lambda: 1 / 0,
    "nothing": lambda: None,
    "nan": lambda: float("nan"),
    "unknown": lambda: object(),
    "long": lambda: "x" * (2 << 20),
    "print": lambda: print("noise") or 2,
    "thread": _thread,
    "open": lambda: _refused(lambda: open("/etc/hostname")),  # noqa: SIM115
    "socket": lambda: _refused(socket.socket),
    "fork": lambda: _refused(os.fork),
    "abort": os.abort,
    "threads": lambda: [_thread() for _ in range(8)],
    "memory": lambda: len(mmap.mmap(-1, 1 << 24)),
    "program": lambda: _refused(lambda: subprocess.run(["true"], check=False)),
}


class Act(Processor):
    """Does what the payload says."""

    keyword = "ACT"
    description = "does as it is told"
    returns = "json"

    def process(self, item: Item) -> object:
        act, _, argument = item.payload.decode().partition(" ")
        if act == "harm":
            return _harm(argument)
        return ACTS[item.payload.decode()]()


class NeverStarts(Processor):
    keyword = "NEVER"
    description = "cannot start"

    def start(self, settings: WorkerSettings) -> None:
        raise RuntimeError("no such model")


PLACES = {
    one.keyword: f"{HERE}:{one.__name__}"
    for one in (Size, Count, CountAgain, CountShared, Echo, Act, NeverStarts)
}
