# Everything a newcomer needs. Each target makes its own .venv; a machine with only Python (3.10-3.14) and make is enough.
#   make predict    the main job: a report in run/            make test     the whole test suite
#   make lint       ruff and mypy                           make bench    speeds, beside other libraries
PYTHON ?= python3
PY     := .venv/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check
LOCK   := requirements-dev.lock

export MPLBACKEND ?= Agg

.PHONY: predict test lint bench images lock clean

predict: .venv/.ready
	$(PY) -m kinecast predict examples/two_link_time_optimal.yaml -o run

test: .venv/.ready-test
	$(PY) -m pytest -n auto --dist loadfile

lint: .venv/.ready-test
	$(PY) -m ruff check .
	$(PY) -m mypy

bench: .venv/.ready-test
	$(PY) -m kinecast bench --peers
	$(PY) benchmarks/simulate_peers.py
	$(PY) benchmarks/predict_casadi.py
	$(PY) benchmarks/walk.py

# The picture of the README.
images: .venv/.ready
	$(PY) examples/picture.py docs/images/time_optimal.png

$(PY):
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 10) <= v < (3, 15) or sys.exit("kinecast needs Python 3.10 to 3.14, this is %d.%d: name another one, as in make PYTHON=python3.12" % v)'
	@echo "making .venv (about a minute, once)"
	@$(PYTHON) -m venv .venv

.venv/.ready: pyproject.toml | $(PY)
	$(PIP) install --quiet --editable .
	@touch $@

# pin and mujoco are referees: where they have no wheel for this Python or system the tests that need them are skipped.
.venv/.ready-test: pyproject.toml $(LOCK) | $(PY)
	$(PIP) install --quiet --prefer-binary --constraint $(LOCK) --editable '.[test,peers,dev]' \
	|| { echo "going on without the peers"; $(PIP) install --quiet --constraint $(LOCK) --editable '.[test,dev]'; }
	@touch $@ .venv/.ready

# One lock for every supported Python and platform (needs uv).
lock:
	uv pip compile --universal --python-version 3.10 --extra test --extra peers --extra dev --no-header --quiet pyproject.toml --output-file $(LOCK).new
	{ head -n 1 $(LOCK); cat $(LOCK).new; } > $(LOCK).both && mv $(LOCK).both $(LOCK) && rm $(LOCK).new

clean:
	rm -rf .venv out build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
