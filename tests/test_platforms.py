"""The package needs no module, function, file or signal that only Linux has."""

import re
from pathlib import Path

import ltr_duel

PACKAGE = Path(ltr_duel.__file__).parent
HOST = PACKAGE / "core" / "host.py"  # the one module that may look for what only Linux has
LINUX = re.compile(
    r"import (fcntl|grp|pwd|resource|termios)|/proc\b|symlink_to|\.readlink|\bsignal\.SIG(?!INT\b|TERM\b|_)\w+"
    r"|\bos\.(fork|getp?gid|getuid|geteuid|kill|killpg|mkfifo|posix_\w+|pread|pwrite|register_at_fork|sched_\w+"
    r"|setsid|statvfs|symlink|sysconf|uname|wait\d|O_DIRECTORY)\b"
)


def test_only_one_module_uses_what_only_linux_has():
    found = [
        f"{path.relative_to(PACKAGE)}: {match[0]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != HOST
        for match in LINUX.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found
