"""Files of object code: whole or not at all, ours or not at all."""

import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from kinecast.engine import cache

KEY, HEADER, OBJECTS = "0a1b", {"counts": {"trig": 2}}, [b"first object", b"", b"third"]

posix = pytest.mark.skipif(os.name != "posix", reason="mode bits and owners are POSIX's")


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setenv("KINECAST_CACHE", str(tmp_path / "deep" / "kernels"))
    return tmp_path / "deep" / "kernels"


def stored(place):
    return place / f"{KEY}.kernel"


def assert_whole():
    header, objects = cache.read(KEY)
    assert header["counts"] == HEADER["counts"]
    assert objects == OBJECTS


def assert_said_once(place, words, act):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
        act()
    assert [w.category for w in caught] == [cache.CacheWarning]
    assert [str(w.message) for w in caught] == [
        f"kernel cache {place} {words}: kernels are compiled anew in every process"
    ]
    return caught[0]


def write():
    cache.write(KEY, HEADER, OBJECTS)


def test_what_is_written_is_read(place):
    assert cache.read(KEY) is None
    write()
    assert_whole()
    assert [path.name for path in place.iterdir()] == [f"{KEY}.kernel"]


def test_what_is_written_again_replaces(place):
    cache.write(KEY, {"counts": None}, [b"old"])
    write()
    assert_whole()


@posix
def test_folder_and_file_are_the_users_own(place):
    write()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(stored(place).stat().st_mode) == 0o600


def test_the_users_cache_folder_is_the_default(monkeypatch, tmp_path):
    monkeypatch.delenv("KINECAST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder().parts[-2:] == ("kinecast", "kernels")


def sealed(payload):
    return cache.MAGIC + hashlib.sha256(payload).digest() + payload


def framed(header, objects=b""):
    return sealed(len(header).to_bytes(8, "little") + header + objects)


def test_a_file_cut_short_anywhere_is_none(place):
    write()
    whole = stored(place).read_bytes()
    for length in range(len(whole)):
        stored(place).write_bytes(whole[:length])
        assert cache.read(KEY) is None
    stored(place).write_bytes(whole + b"x")
    assert cache.read(KEY) is None


def test_a_file_with_any_byte_flipped_is_none(place):
    write()
    whole = stored(place).read_bytes()
    for k in range(len(whole)):
        stored(place).write_bytes(whole[:k] + bytes([whole[k] ^ 0x10]) + whole[k + 1 :])
        assert cache.read(KEY) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"something else altogether",
        b"\x7fELF" + bytes(1000),
        cache.MAGIC,
        cache.MAGIC + bytes(500),
        sealed(b""),
        sealed(b"\xff" * 8),
        sealed((10**12).to_bytes(8, "little") + b"{}"),
        framed(b"not json"),
        framed(b"\xff\xfe\x00"),
        framed(b"[1, 2]"),
        framed(b"null"),
        framed(b"{}"),
        framed(json.dumps({"key": KEY}).encode()),
        framed(json.dumps({"key": KEY, "objects": 3}).encode()),
        framed(json.dumps({"key": KEY, "objects": ["a"]}).encode()),
        framed(json.dumps({"key": KEY, "objects": [5]}).encode(), b"four"),
        framed(json.dumps({"key": KEY, "objects": [-1, 5]}).encode(), b"four"),
        framed(json.dumps({"key": KEY, "objects": [3]}).encode(), b"four"),
        framed(json.dumps({"key": "another key", "objects": []}).encode()),
        framed(b"[" * 100_000),
    ],
)
def test_a_file_that_is_not_ours_is_none_and_is_replaced(place, data):
    place.mkdir(parents=True)
    place.chmod(0o700)
    stored(place).write_bytes(data)
    assert cache.read(KEY) is None
    write()
    assert_whole()


def test_a_folder_in_the_place_of_a_file_is_none(place):
    stored(place).mkdir(parents=True)
    place.chmod(0o700)
    assert cache.read(KEY) is None


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_trusted(place, mode):
    write()
    place.chmod(mode)
    before = stored(place).read_bytes()
    words = "is writable by other users (chmod go-w makes it usable)"
    assert_said_once(place, words, lambda: cache.read(KEY))
    cache._warned.clear()
    assert_said_once(place, words, lambda: cache.write(KEY, HEADER, [b"other"]))
    assert stored(place).read_bytes() == before
    assert (cache.status().usable, cache.status().reason) == (False, words)
    place.chmod(0o755)  # reading is no harm
    assert_whole()


@posix
def test_a_folder_of_another_user_is_not_trusted(place, monkeypatch):
    write()
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    assert_said_once(place, "belongs to another user", lambda: cache.read(KEY))
    assert cache.read(KEY) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_given_to_another_user_is_not_trusted(place):
    write()
    os.chown(place, 12345, 12345)
    assert_said_once(place, "belongs to another user", write)
    os.chown(place, 0, 0)
    os.chown(stored(place), 12345, 12345)
    assert cache.read(KEY) is None


@posix
def test_a_file_that_others_can_write_to_is_not_trusted(place):
    write()
    stored(place).chmod(0o666)
    assert cache.read(KEY) is None


@posix
def test_links_are_followed_to_what_can_be_trusted(place, tmp_path, monkeypatch):
    write()
    link = tmp_path / "link"
    link.symlink_to(place)
    monkeypatch.setenv("KINECAST_CACHE", str(link))
    assert_whole()
    elsewhere = tmp_path / "elsewhere"
    stored(place).rename(elsewhere)
    stored(place).symlink_to(elsewhere)
    assert_whole()
    elsewhere.chmod(0o622)
    assert cache.read(KEY) is None
    write()  # replaces the link, not what it leads to
    assert_whole()
    assert not stored(place).is_symlink()


@posix
def test_a_link_that_leads_nowhere_is_said_once(place):
    place.parent.mkdir()
    place.symlink_to(place.parent / "nothing")
    assert cache.read(KEY) is None
    assert_said_once(place, "cannot be written (File exists)", write)


def test_a_file_in_the_place_of_the_folder_is_said_once(place):
    place.parent.mkdir()
    place.write_text("a file")
    assert cache.read(KEY) is None
    assert_said_once(place, "is not a folder", write)
    assert place.read_text() == "a file"


def refusing(monkeypatch, number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache.tempfile, "mkstemp", refuse)


def test_a_folder_that_is_read_only_is_read_and_said_once(place, monkeypatch):
    write()
    refusing(monkeypatch, errno.EROFS)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert_said_once(place, "cannot be written (Read-only file system)", lambda: cache.write("other", {}, []))
    assert_whole()
    assert (cache.status().usable, cache.status().reason) == (False, "is read-only")


def test_a_home_in_which_nothing_can_be_made_is_said_once(place, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert_said_once(place, "cannot be written (Permission denied)", write)
    assert cache.read(KEY) is None


@pytest.mark.parametrize("failing", ["write", "replace"])
def test_a_full_disk_leaves_no_file_and_is_said_once(place, monkeypatch, failing):
    write()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full:
        def __init__(self, handle, mode):
            os.close(handle)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        write = full

    monkeypatch.setattr(os, *(("replace", full) if failing == "replace" else ("fdopen", Full)))
    assert_said_once(place, "cannot be written (No space left on device)", lambda: cache.write("other", {}, [b"x"]))
    assert [path.name for path in place.iterdir()] == [f"{KEY}.kernel"]
    assert_whole()


def test_an_interrupt_leaves_no_unfinished_file(place, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(place.iterdir()) == []


def test_files_of_killed_processes_are_removed_and_of_living_ones_are_not(place):
    write()
    old, young = place / "old.part", place / "young.part"
    old.write_text("")
    young.write_text("")
    long_ago = young.stat().st_mtime - 2 * cache.ABANDONED_SECONDS
    os.utime(old, (long_ago, long_ago))
    write()
    assert sorted(path.name for path in place.iterdir()) == [f"{KEY}.kernel", "young.part"]


def test_the_warning_points_outside_kinecast(place):
    place.parent.mkdir()
    place.write_text("a file")
    with pytest.warns(cache.CacheWarning) as caught:
        write()
    assert caught[0].filename == __file__


def test_where_warnings_are_errors_the_next_call_works(place):
    place.parent.mkdir()
    place.write_text("a file")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cache.CacheWarning):
            write()
        write()


def test_status_counts_what_is_there(place):
    assert cache.status() == cache.CacheStatus(place, True, "not made yet", 0, 0)
    write()
    cache.write("other", HEADER, OBJECTS)
    assert cache.status() == cache.CacheStatus(place, True, "", 2, 2 * stored(place).stat().st_size + 1)


WRITERS = """
    import sys
    from kinecast.engine import cache

    mine = sys.argv[1].encode() * 200_000
    for _ in range(150):
        cache.write("shared", {"by": sys.argv[1]}, [mine, mine])
        found = cache.read("shared")
        assert found, "no whole file"
        header, objects = found
        assert objects == [header["by"].encode() * 200_000] * 2, "two writers in one file"
"""


def test_processes_that_write_the_same_file_never_mix(place):
    code = textwrap.dedent(WRITERS)
    writers = [
        subprocess.Popen([sys.executable, "-c", code, name], stderr=subprocess.PIPE, text=True) for name in "abc"
    ]
    assert [writer.communicate(timeout=120)[1] for writer in writers] == ["", "", ""]
    assert [path.name for path in place.iterdir()] == ["shared.kernel"]
