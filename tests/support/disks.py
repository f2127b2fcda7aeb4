"""Disks that are full at will, under a real server: a small file system of its own, or a limit on its files.

`a_small_disk` mounts a file system in memory, which only root may do; `no_file_may_grow` needs nobody's leave
and lets every write of one process fail instead.
"""

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support.needs import path_of

_CHUNK = 64 * 1024


@contextlib.contextmanager
def a_small_disk(folder: Path, megabytes: int = 24) -> Iterator[Path]:
    """Mount a file system on a folder for a block."""
    folder.mkdir(exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run([path_of("mount"), *options], check=True)  # noqa: S603 -- our own words
    try:
        yield folder
    finally:
        unmount = Path(path_of("mount")).with_name("umount")
        subprocess.run([unmount, "--lazy", str(folder)], check=True)  # noqa: S603 -- our own words


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Let a disk be full to the last byte for a block."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(_CHUNK))
    with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1))
    try:
        yield
    finally:
        ballast.unlink()


@contextlib.contextmanager
def no_file_may_grow(process_id: int) -> Iterator[None]:
    """Let no write of a process to a file succeed for a block; pipes and sockets are none."""
    before = resource.prlimit(process_id, resource.RLIMIT_FSIZE)
    resource.prlimit(process_id, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process_id, resource.RLIMIT_FSIZE, before)
