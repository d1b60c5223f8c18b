"""Object code on disk: one checked file a kernel, replaced atomically, trusted only where nobody else can write.

The folder is ``KINECAST_CACHE`` or the user's cache folder. Anything that is not a whole file of ours under the right
key is built again; a folder that cannot be written, or that others can write to, is not used and one warning says so.

A file: `MAGIC`, the SHA-256 of the rest, the header's length (8 bytes, little endian), the header (JSON), the objects.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"kinecast object cache 1\n"
SUFFIX, UNFINISHED = ".kernel", ".part"
ABANDONED_SECONDS = 3600.0  # an unfinished file as old as this belongs to a process that was killed


class CacheWarning(UserWarning):
    """The cache on disk is not used; everything works, but is compiled anew in every process."""


_warned: set[str] = set()


@dataclass(frozen=True)
class CacheStatus:
    """State of the folder: ``usable``, or the reason why not."""

    folder: Path
    usable: bool
    reason: str
    files: int
    bytes: int


def folder() -> Path:
    """Where kernels are kept (it need not exist)."""
    chosen = os.environ.get("KINECAST_CACHE")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("kinecast")) / "kernels"


def untrusted(path: Path) -> str:
    """Why code from this folder must not be run, or an empty string."""
    try:
        info = path.stat()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISDIR(info.st_mode):
        return "is not a folder"
    return _open_to_others(info)


def _open_to_others(info: os.stat_result) -> str:
    """Why somebody else may have written this file or folder, or an empty string."""
    if os.name != "posix":
        return ""  # the user's own folder is protected by its access list, which mode bits do not show
    if info.st_uid != os.getuid():
        return "belongs to another user"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "is writable by other users (chmod go-w makes it usable)"
    return ""


def status() -> CacheStatus:
    """What `kinecast doctor` shows."""
    place = folder()
    if not place.exists():
        return CacheStatus(place, True, "not made yet", 0, 0)
    reason = untrusted(place)
    if not reason and not os.access(place, os.W_OK):
        reason = "is read-only"
    sizes = [f.stat().st_size for f in place.glob(f"*{SUFFIX}")]
    return CacheStatus(place, not reason, reason, len(sizes), sum(sizes))


def _warn_once(place: Path, reason: str) -> None:
    """Say that a folder is not used, at the line outside kinecast that led here."""
    if str(place) in _warned:
        return
    _warned.add(str(place))
    level, frame = 2, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "kinecast":
        level, frame = level + 1, frame.f_back
    text = f"kernel cache {place} {reason}: kernels are compiled anew in every process"
    warnings.warn(text, CacheWarning, stacklevel=level)


def read(key: str) -> tuple[dict[str, Any], list[bytes]] | None:
    """Header and objects stored under a key; None if there is nothing that can be trusted."""
    place = folder()
    try:
        with open(place / f"{key}{SUFFIX}", "rb") as file:
            reason = untrusted(place)
            if reason:
                _warn_once(place, reason)
                return None
            # The open file is asked too: a link may lead to a file of somebody else.
            if _open_to_others(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    return _parse(data, key)


def _parse(data: bytes, key: str) -> tuple[dict[str, Any], list[bytes]] | None:
    start = len(MAGIC) + hashlib.sha256().digest_size
    if not data.startswith(MAGIC) or hashlib.sha256(data[start:]).digest() != data[len(MAGIC) : start]:
        return None
    at = start + 8 + int.from_bytes(data[start : start + 8], "little")
    objects = []
    try:
        header = json.loads(data[start + 8 : at])
        if header["key"] != key:
            return None
        for length in header["objects"]:
            objects.append(data[at : at + max(0, length)])
            at += length
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # whole, but not written by us
    return (header, objects) if [len(o) for o in objects] == header["objects"] and at == len(data) else None


def write(key: str, header: dict[str, Any], objects: list[bytes]) -> None:
    """Store under a key; the file appears whole or not at all. A folder that cannot be used is said once."""
    place = folder()
    head = json.dumps({**header, "key": key, "objects": [len(o) for o in objects]}).encode()
    payload = len(head).to_bytes(8, "little") + head + b"".join(objects)
    reason = ""
    try:
        if not place.exists():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = untrusted(place)
        if not reason:
            _remove_abandoned(place)
            _replace(place / f"{key}{SUFFIX}", MAGIC + hashlib.sha256(payload).digest() + payload)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
    if reason:
        _warn_once(place, reason)


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside its place, then move it there: readers see the old one or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:  # an interrupt too must leave nothing behind
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _remove_abandoned(place: Path) -> None:
    for path in place.glob(f"*{UNFINISHED}"):
        with contextlib.suppress(OSError):  # another process may be quicker
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()
