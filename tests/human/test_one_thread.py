"""One thread for products of matrices: while asked for, and as before afterwards, also after an error."""

import pytest

from kinecast.human.one_thread import _openblas, one_thread


def test_threads_are_one_inside_and_as_before_afterwards():
    functions = _openblas()
    if functions is None:
        pytest.skip("NumPy's products are not OpenBLAS's here")
    threads, use = functions
    before = threads()
    use(2)
    try:
        with one_thread():
            assert threads() == 1
        assert threads() == 2
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert threads() == 2
    finally:
        use(before)


def test_without_openblas_nothing_happens(monkeypatch):
    monkeypatch.setattr("kinecast.human.one_thread._openblas", lambda: None)
    with one_thread():
        pass
