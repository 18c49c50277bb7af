"""Python on Linux, in which code of ltr_duel has only the features of Windows; libraries see the real system.

Python runs this file when it starts, if its folder is on the path, so that child processes have it too.
"""

from __future__ import annotations

import builtins
import mmap
import os
import signal
import sys
from pathlib import Path
from types import FrameType, ModuleType

MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"}
MISSING = {
    os: "fork forkpty register_at_fork pread preadv pwrite pwritev sysconf sysconf_names confstr getuid geteuid getgid"
    " getegid getpgid setpgid getsid setsid killpg uname chown fchown lchown mkfifo nice sched_getaffinity"
    " sched_setaffinity sched_yield wait3 wait4 posix_fadvise posix_fallocate fdatasync sync getloadavg statvfs"
    " O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_CLOEXEC",
    signal: "SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGXCPU alarm setitimer pthread_kill sigwait",
    mmap: "MADV_DONTNEED",
}


def package(frame: FrameType | None) -> str:
    """Return the package of a frame's code."""
    names = frame.f_globals if frame else {}
    return str(names.get("__package__") or names.get("__name__")).partition(".")[0]


def ours(*, directly: bool = True) -> bool:
    """Return whether ltr_duel called the caller of this function, directly or through the standard library."""
    frame = sys._getframe(1).f_back
    while not directly and frame and package(frame) in {*sys.stdlib_module_names, __name__}:
        frame = frame.f_back
    return package(frame) == "ltr_duel"


def without(module: ModuleType, names: list[str]) -> None:
    """Hide names of a module from ltr_duel; the standard library can still use them."""
    hidden = {name: module.__dict__.pop(name) for name in names if name in module.__dict__}

    def lookup(name):
        if name not in hidden or ours():
            raise AttributeError(f"no {module.__name__}.{name} here")
        return hidden[name]

    module.__getattr__ = lookup


def importing(name, globals=None, locals=None, fromlist=(), level=0):
    """Import a module, except modules that Windows lacks into ltr_duel."""
    if level == 0 and name.partition(".")[0] in MODULES and ours():
        raise ImportError(f"no module {name} here")
    return original_import(name, globals, locals, fromlist, level)


def refuse(*args, **options):
    """Reject a symbolic link, as Windows does for most users."""
    raise OSError(1314, "a required privilege is not held by the client")


def of_linux(path: object) -> bool:
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith("/proc")


def looking(original):
    """Wrap a function on paths, so that ltr_duel finds nothing under ``/proc``."""

    def look(path, *args, **options):
        if of_linux(path) and ours(directly=False):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return original(path, *args, **options)

    return look


def opening(event, args):
    """Reject opening folders, and files under ``/proc``."""
    if event in ("open", "os.listdir", "os.scandir") and of_linux(args[0]) and ours(directly=False):
        raise FileNotFoundError(2, "No such file or directory", str(args[0]))
    if event == "open" and isinstance(args[0], str | os.PathLike) and ours() and Path(args[0]).is_dir():
        raise PermissionError(13, "Permission denied", str(args[0]))


def killing(pid, number):
    """Send a signal, except for ltr_duel, because a signal ends the process on Windows."""
    if ours():
        raise OSError(87, "the parameter is incorrect")
    return original_kill(pid, number)


original_import, original_kill = builtins.__import__, os.kill
for module, names in MISSING.items():
    without(module, names.split())
for name in ("stat", "lstat", "readlink"):
    setattr(os, name, looking(getattr(os, name)))
os.kill, os.symlink, Path.symlink_to = killing, refuse, refuse
builtins.__import__ = importing
sys.addaudithook(opening)
