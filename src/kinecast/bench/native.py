"""The C++ side: `peer.cpp`, built against the headers in Pinocchio's wheel, kept in the cache folder and run.

Two builds are tried, as either may be the faster one: calling the templates that the wheel's library holds ready, and
compiling everything for this CPU. Needs a C++ compiler (`CXX`, g++ or c++) and Eigen's headers (the package
cmeel-eigen, or the system's); without them there is no C++ side, and the reason is given.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

import numpy as np

from kinecast.bench.tree import WIDTH, TreeJoint
from kinecast.engine import cache
from kinecast.errors import KinecastError
from kinecast.mechanism.checks import Array

PEER = "pinocchio-c++"

# What the wheel itself was built with; headers and library must agree.
_DEFINES = (
    "NDEBUG",
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
_VARIANTS: dict[str, tuple[str, ...]] = {
    "wheel": ("-O2", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", "-lpinocchio_default"),
    "native": ("-O3", "-march=native"),
}


class NoNativePeer(KinecastError):
    """The C++ program cannot be built or run here; the message says why."""


@dataclass(frozen=True)
class Timing:
    """Best time of one algorithm (us a sample), by which build, and its first result on the first sample."""

    microseconds: float
    build: str
    first_result: float


@dataclass(frozen=True)
class Toolchain:
    """What the C++ program is built with."""

    compiler: str
    compiler_version: str
    prefix: Path
    eigen: Path

    @classmethod
    def find(cls) -> Toolchain:
        """The compiler and the headers of this machine."""
        wanted = os.environ.get("CXX")
        compiler = shutil.which(wanted) if wanted else shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            raise NoNativePeer(f"no C++ compiler: {wanted or 'g++ or c++'} is not on the PATH")
        answer = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
        try:
            prefix = Path(str(distribution("libpinocchio").locate_file("cmeel.prefix")))
        except PackageNotFoundError:
            raise NoNativePeer("no Pinocchio headers: install the package pin (4 or newer)") from None
        places = [prefix / "include", Path("/usr/include"), Path("/usr/local/include"), Path("/opt/homebrew/include")]
        eigen = next((at / "eigen3" for at in places if (at / "eigen3" / "Eigen" / "Core").is_file()), None)
        if eigen is None:
            raise NoNativePeer("no Eigen headers: install the package cmeel-eigen (or the system's libeigen3-dev)")
        return cls(compiler, answer.stdout.partition("\n")[0], prefix, eigen)

    def command(self, variant: str, source: Path, program: Path) -> list[str]:
        """The command that builds one variant."""
        flags = _VARIANTS[variant]
        return [
            self.compiler,
            "-std=c++17",
            "-w",
            *(flag for flag in flags if not flag.startswith("-l")),
            *(f"-D{define}" for define in _DEFINES),
            *(word for folder in (self.prefix / "include", self.eigen) for word in ("-isystem", str(folder))),
            str(source),
            "-o",
            str(program),
            f"-L{self.prefix / 'lib'}",
            f"-Wl,-rpath,{self.prefix / 'lib'}",
            *(flag for flag in flags if flag.startswith("-l")),
            "-lboost_serialization",
        ]

    def key(self, variant: str) -> str:
        """Names the program that `command` makes on this machine: source, versions, flags and CPU."""
        import llvmlite.binding as llvm

        parts = [
            _source(),
            self.compiler_version,
            *self.command(variant, Path("peer.cpp"), Path("peer")),
            *(f"{name} {distribution(name).version}" for name in ("libpinocchio", "cmeel-boost")),
            _eigen_version(self.eigen),
            platform.machine(),
            llvm.get_host_cpu_name(),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def programs(say: Callable[[str], None]) -> dict[str, Path]:
    """The program of each variant, from the cache folder or built into it, one at a time."""
    tools = Toolchain.find()
    folder = cache.folder() / "programs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if reason := cache.untrusted(folder):
        raise NoNativePeer(f"the folder for C++ programs, {folder}, {reason}")
    return {variant: _built(variant, tools, folder, say) for variant in _VARIANTS}


def _built(variant: str, tools: Toolchain, folder: Path, say: Callable[[str], None]) -> Path:
    program = folder / f"peer-{variant}-{tools.key(variant)}"
    if program.is_file():
        return program
    say(f"building Pinocchio's C++ timing program, {variant} variant (one to three minutes, once)")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        source, made = Path(scratch, "peer.cpp"), Path(scratch, "peer")
        source.write_text(_source())
        done = subprocess.run(tools.command(variant, source, made), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise NoNativePeer(f"the C++ compiler failed on the {variant} variant: {' '.join(errors[:1])[:300]}")
        made.replace(program)  # atomic: another process finds all of it or nothing
    return program


def time_algorithms(
    programs: dict[str, Path], joints: Sequence[TreeJoint], gravity: Array, samples: Array, seconds: float
) -> dict[str, Timing]:
    """The faster build's time of every algorithm on samples (N, 4, nv) of q, v, a, tau in the order of the tree."""
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch, "model.txt")
        model.write_text(model_text(joints, gravity, samples))
        best: dict[str, Timing] = {}
        for name, program in programs.items():
            done = subprocess.run([program, model, str(seconds)], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise NoNativePeer(f"the C++ program ({name}) failed: {done.stderr.strip() or done.returncode}")
            for line in done.stdout.splitlines():
                algorithm, microseconds, first = line.split()
                timing = Timing(float(microseconds), name, float(first))
                if algorithm not in best or timing.microseconds < best[algorithm].microseconds:
                    best[algorithm] = timing
    return best


def model_text(joints: Sequence[TreeJoint], gravity: Array, samples: Array) -> str:
    """A model and samples as `peer.cpp` reads them; its head comment has the format."""
    lines = [_numbers(gravity), f"{len(joints)} {len(samples)}"]
    for joint in joints:
        body, before = joint.body, joint.before
        placement = _numbers(joint.axis, before.rotation, before.translation)
        inertia = _numbers([body.mass], body.com, body.inertia, [joint.actuator_inertia])
        lines.append(f"{joint.kind} {joint.parent + 1} {placement} {inertia}")
    for q, v, a, tau in samples:
        lines.append(_numbers(_configuration(joints, q), v, a, tau))
    return "\n".join(lines) + "\n"


def _configuration(joints: Sequence[TreeJoint], q: Array) -> Array:
    """Pinocchio's configuration vector: where a joint turns freely, a quaternion made of its three coordinates."""
    parts = []
    start = 0
    for joint in joints:
        own = q[start : start + WIDTH[joint.kind]]
        if joint.kind in ("ball", "free"):
            quaternion = np.append(own[-3:], 1.0)
            own = np.concatenate([own[:-3], quaternion / np.linalg.norm(quaternion)])
        parts.append(own)
        start += WIDTH[joint.kind]
    return np.concatenate(parts)


def _numbers(*arrays: object) -> str:
    return " ".join(f"{x:.17g}" for array in arrays for x in np.ravel(np.asarray(array, dtype=float)))


def _source() -> str:
    return files("kinecast.bench").joinpath("peer.cpp").read_text()


def _eigen_version(eigen: Path) -> str:
    header = (eigen / "Eigen" / "src" / "Core" / "util" / "Macros.h").read_text(errors="replace")
    return " ".join(line for line in header.splitlines() if line.startswith("#define EIGEN_") and "VERSION " in line)
