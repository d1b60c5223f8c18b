"""Object code on disk: one checked file a kernel, replaced atomically, trusted only where nobody else can write.

The folder is ``KINECAST_CACHE`` or the user's cache folder. Anything that is not a whole file of ours under the right key is
built again; a folder that cannot be written, or that others can write to, is not used and one warning says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"kinecast object cache 1\n"


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
    if os.name != "posix":
        return ""
    try:
        info = path.stat()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISDIR(info.st_mode):
        return "is not a folder"
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
    sizes = [f.stat().st_size for f in place.glob("*.kernel")]
    return CacheStatus(place, not reason, reason, len(sizes), sum(sizes))


def _warn_once(place: Path, reason: str) -> None:
    if str(place) not in _warned:
        _warned.add(str(place))
        warnings.warn(f"kernel cache {place} {reason}: kernels are compiled anew in every process", CacheWarning, stacklevel=3)


def read(key: str) -> tuple[dict[str, Any], list[bytes]] | None:
    """Header and objects stored under a key; None if there is nothing that can be trusted."""
    place = folder()
    path = place / f"{key}.kernel"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    reason = untrusted(place)
    if reason:
        _warn_once(place, reason)
        return None
    return _parse(data, key)


def _parse(data: bytes, key: str) -> tuple[dict[str, Any], list[bytes]] | None:
    start = len(MAGIC) + 32
    if not data.startswith(MAGIC) or hashlib.sha256(data[start:]).digest() != data[len(MAGIC) : start]:
        return None
    size = int.from_bytes(data[start : start + 8], "little")
    header = json.loads(data[start + 8 : start + 8 + size])
    if header["key"] != key:
        return None
    objects, at = [], start + 8 + size
    for length in header["objects"]:
        objects.append(data[at : at + length])
        at += length
    return header, objects


def write(key: str, header: dict[str, Any], objects: list[bytes]) -> None:
    """Store under a key; the file appears whole or not at all. A folder that cannot be used is said once."""
    place = folder()
    head = json.dumps({**header, "key": key, "objects": [len(o) for o in objects]}).encode()
    payload = len(head).to_bytes(8, "little") + head + b"".join(objects)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = untrusted(place)
        if reason:
            _warn_once(place, reason)
            return
        handle, temporary = tempfile.mkstemp(dir=place, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, place / f"{key}.kernel")
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        _warn_once(place, f"cannot be written ({error.strerror})")
