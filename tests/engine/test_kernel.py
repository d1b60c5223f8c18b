"""The front door: memory, disk, compiler."""

import subprocess
import sys
import textwrap
import threading
import time

import casadi as ca
import numpy as np
import pytest

from kinecast.engine import Counts, Port, cache, kernel, set_progress, simd

module = sys.modules["kinecast.engine.kernel"]  # the function of the same name hides it


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """An empty cache and no memory of other tests."""
    monkeypatch.setenv("KINECAST_CACHE", str(tmp_path / "kernels"))
    monkeypatch.setattr(module, "_known", {})
    yield tmp_path / "kernels"
    set_progress(None)


def norm2():
    x = ca.SX.sym("x", 3)
    return ca.Function("norm2", [x], [ca.dot(x, x)])


def ask(key="k", trace=norm2, name="norm2", argument="x", size=3):
    return kernel(
        name,
        key=key,
        inputs=[Port(argument, (size,))],
        outputs=[Port("y", ())],
        trace=trace,
        doc="Square of the length.",
    )


def no_trace():
    raise AssertionError("traced again")


def forget():
    module._known.clear()


def test_a_kernel_says_what_it_is():
    made = ask()
    assert made.ufunc.__name__ == "norm2"
    assert made.ufunc.__doc__.endswith("Square of the length.")
    assert made.counts == Counts(multiplications=3, additions=2, divisions=0, trig=0)
    assert [p.tolist() for p in made.patterns] == [[0]]
    assert not made.from_cache
    assert repr(made).startswith("Kernel(name='norm2'")


def test_the_same_key_is_the_same_kernel():
    assert ask() is ask(trace=no_trace)


def test_the_disk_remembers(fresh):
    first = ask()
    forget()
    second = ask(trace=no_trace)
    assert second is not first
    assert second.from_cache
    assert second.counts == first.counts
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(second.ufunc(x), first.ufunc(x))
    assert len(list(fresh.iterdir())) == 1


@pytest.mark.parametrize("change", [{"key": "other"}, {"name": "norm"}, {"argument": "z"}])
def test_whatever_is_asked_for_differently_is_another_kernel(change):
    first = ask()
    assert ask(**change) is not first


def test_another_width_is_another_kernel(monkeypatch):
    first = ask()
    for name in simd.supported():
        monkeypatch.setenv("KINECAST_SIMD", name)
        assert (ask() is first) == (name == first.target.name)


def test_other_source_is_another_kernel(tmp_path):
    (tmp_path / "a.py").write_text("one")
    before = module.source_fingerprint(tmp_path)
    module.source_fingerprint.cache_clear()
    (tmp_path / "a.py").write_text("two")
    assert module.source_fingerprint(tmp_path) != before


def test_what_is_traced_must_fit_the_ports():
    with pytest.raises(
        ValueError, match=r"^norm2: the traced sizes \(3,\) -> \(1,\) are not those .* \(4,\) -> \(1,\)$"
    ):
        ask(size=4)


def test_an_argument_without_entries_is_refused():
    with pytest.raises(ValueError, match="^norm2: 'x' has no entries; every argument of a kernel needs at least one$"):
        ask(size=0)


def test_a_file_that_cannot_be_loaded_is_built_again(fresh):
    ask()
    (path,) = fresh.iterdir()
    key = path.stem
    header, objects = cache.read(key)
    for broken in (
        (header, objects[1:]),  # without the driver: nothing to call
        ({"patterns": [[0]]}, objects),
        ({"counts": {"nonsense": 1}, "patterns": [[0]]}, objects),
    ):
        cache.write(key, *broken)
        forget()
        made = ask()
        assert not made.from_cache
        assert made.ufunc(np.ones(3)) == 3.0
    forget()
    assert ask(trace=no_trace).from_cache


def test_threads_that_ask_at_once_get_one_kernel():
    traced, found, barrier = [], [], threading.Barrier(8)

    def trace():
        traced.append(1)
        time.sleep(0.05)  # long enough for the others to ask meanwhile
        return norm2()

    def work():
        barrier.wait()
        found.append(ask(trace=trace))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(traced) == 1
    assert len({id(made) for made in found}) == 1


SCRIPT = """
    import sys
    import numpy as np
    from kinecast.engine import Port, kernel

    def trace():
        import casadi as ca
        x = ca.SX.sym("x", 3)
        return ca.Function("norm2", [x], [ca.dot(x, x)])

    made = kernel("norm2", key="processes", inputs=[Port("x", (3,))], outputs=[Port("y", ())], trace=trace)
    print(made.ufunc(np.arange(6.0).reshape(2, 3)).tolist(), made.from_cache, "casadi" in sys.modules)
"""


def start():
    code = textwrap.dedent(SCRIPT)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_processes_share_the_cache_and_need_no_casadi_once_it_is_filled(fresh):
    together = [start() for _ in range(3)]
    ends = [process.communicate(timeout=120) for process in together]
    assert all(out.startswith("[5.0, 50.0]") and err == "" for out, err in ends), ends
    assert [path.suffix for path in fresh.iterdir()] == [".kernel"]
    assert start().communicate(timeout=120) == ("[5.0, 50.0] True False\n", "")


def test_progress_is_reported_to_the_one_who_asks():
    said = []
    set_progress(lambda *words: said.append((*words, threading.current_thread())))
    ask()
    totals = {total for _, _, total, _ in said}
    assert len(totals) == 1
    assert [(name, done) for name, done, *_ in said] == [("norm2", k + 1) for k in range(totals.pop())]
    assert {thread for *_, thread in said} == {threading.current_thread()}
    said.clear()
    forget()
    ask()
    assert said == []  # from disk: nothing to wait for


def test_an_interrupt_while_compiling_leaves_nothing(fresh):
    def interrupt(name, done, total):
        raise KeyboardInterrupt

    set_progress(interrupt)
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert not fresh.exists() or list(fresh.iterdir()) == []
    set_progress(None)
    assert not ask().from_cache
    assert ask().ufunc(np.ones(3)) == 3.0


def test_an_error_while_tracing_is_no_obstacle_to_the_next_try():
    with pytest.raises(AssertionError, match="traced again"):
        ask(trace=no_trace)
    assert ask().ufunc(np.ones(3)) == 3.0
