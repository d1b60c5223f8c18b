"""Program -> LLVM vector code -> object code. One lane is one sample; angles are exact for any finite argument.

Widths: ``avx512`` (8 doubles), ``avx2`` (4), ``sse2`` and ``neon`` (2), chosen from the CPU or by the environment
variable ``KINECAST_SIMD``. Floating point is IEEE but for fused multiply-add and the sign of zero: NaN and infinity
stay in their lane.
"""

from __future__ import annotations

import functools
import math
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kinecast.engine.program import Op
from kinecast.engine.schedule import Chunk, Schedule
from kinecast.errors import InputError

FLAGS = "nsz contract"
# Beyond this angle the product of the quadrant number with the first part of pi/2 is no longer exact: the C library
# takes over.
LARGE_ANGLE = 1.6e6
# pi/2 in three parts of 33 bits each, so that a product with a quadrant number below 2^20 is exact (Cody and Waite's
# reduction).
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
# Minimax polynomials of sin and cos on [-pi/4, pi/4] (the coefficients of Sun's fdlibm).
SIN = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04,
       8.33333333332248946124e-03, -1.66666666666666324348e-01)  # fmt: skip
COS = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05,
       -1.38888888888741095749e-03, 4.16666666666666019037e-02)  # fmt: skip
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which then stands in the low bits


@dataclass(frozen=True)
class Target:
    """What to compile for."""

    name: str
    width: int
    cpu: str
    features: str
    fma: bool
    family: str = ""  # "x86" or "arm", where something depends on it

    @property
    def vector(self) -> str:
        """LLVM's type of a row."""
        return f"<{self.width} x double>"

    @property
    def integers(self) -> str:
        """LLVM's type of as many integers."""
        return f"<{self.width} x i64>"

    @property
    def mask(self) -> str:
        """LLVM's type of as many truth values."""
        return f"<{self.width} x i1>"


@functools.cache
def _host() -> tuple[str, dict[str, bool]]:
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())


def supported() -> dict[str, Target]:
    """The targets this CPU can run, widest first."""
    cpu, has = _host()
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        found = {}
        if has.get("avx512f") and has.get("avx512dq") and has.get("avx512vl"):
            features = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(has.items()))
            found["avx512"] = Target("avx512", 8, cpu, features, True, "x86")
        if has.get("avx2") and has.get("fma"):
            found["avx2"] = Target("avx2", 4, "x86-64-v3", "", True, "x86")
        found["sse2"] = Target("sse2", 2, "x86-64", "", False, "x86")
        return found
    if machine in ("arm64", "aarch64"):
        return {"neon": Target("neon", 2, cpu, "", True, "arm")}
    return {"generic": Target("generic", 2, cpu, "", False)}


def target() -> Target:
    """The widest target of this CPU, or the one that ``KINECAST_SIMD`` names."""
    targets = supported()
    wanted = os.environ.get("KINECAST_SIMD")
    if not wanted:
        return next(iter(targets.values()))
    if wanted not in targets:
        runs = ", ".join(targets)
        raise InputError(f"KINECAST_SIMD={wanted!r}: this CPU runs {runs}; choose one of these or leave it unset")
    return targets[wanted]


def real(x: float) -> str:
    """A double as LLVM writes it: its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(x)))[0]:016X}"


class Writer:
    """Lines of one LLVM function, with fresh names."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lines: list[str] = []
        self.count = 0
        self.used: set[str] = set()

    def let(self, expression: str) -> str:
        """Give an expression a name."""
        self.count += 1
        self.lines.append(f" %t{self.count} = {expression}")
        return f"%t{self.count}"

    def do(self, line: str) -> None:
        """Append lines as they are."""
        self.lines.append(line)

    def body(self) -> str:
        """All lines so far."""
        return "\n".join(self.lines)

    def label(self, name: str) -> str:
        """A fresh label."""
        self.count += 1
        return f"{name}{self.count}"

    @contextmanager
    def loop(self, times: str) -> Iterator[str]:
        """What is written inside runs ``times`` times (at least once), with its index."""
        before, head, again, after = (self.label(name) for name in ("before", "loop", "again", "after"))
        self.do(f" br label %{before}\n{before}:\n br label %{head}\n{head}:")
        self.do(f" %{head}i = phi i64 [0, %{before}], [%{head}n, %{again}]")
        yield f"%{head}i"
        self.do(f" br label %{again}\n{again}:\n %{head}n = add i64 %{head}i, 1")
        more = self.let(f"icmp slt i64 %{head}n, {times}")
        self.do(f" br i1 {more}, label %{head}, label %{after}\n{after}:")

    def splat(self, x: float) -> str:
        """A constant in every lane."""
        return f"splat (double {real(x)})"

    def op(self, name: str, *operands: str) -> str:
        """An arithmetic operation."""
        return self.let(f"{name} {FLAGS} {self.target.vector} {', '.join(operands)}")

    def exact(self, name: str, *operands: str) -> str:
        """An operation that must not be fused or reassociated."""
        return self.let(f"{name} {self.target.vector} {', '.join(operands)}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """A function of LLVM's own on vectors."""
        t = self.target
        self.used.add(f"declare {t.vector} @llvm.{name}.v{t.width}f64({', '.join([t.vector] * len(operands))})")
        return self.let(f"call {t.vector} @llvm.{name}.v{t.width}f64({', '.join(f'{t.vector} {o}' for o in operands)})")

    def fma(self, a: str, b: str, c: str) -> str:
        """The value of a * b + c, in one instruction where there is one."""
        return self.intrinsic("fma", a, b, c) if self.target.fma else self.exact("fadd", self.exact("fmul", a, b), c)

    def negative(self, a: str) -> str:
        """The sign turned, of NaN and zero too."""
        return self.let(f"fneg {self.target.vector} {a}")

    def item(self, kind: str, base: str, index: str) -> str:
        """Address of an entry of an array of ``kind``."""
        return self.let(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def address(self, base: str, byte: int) -> str:
        """Address some bytes further on."""
        return self.let(f"getelementptr i8, ptr {base}, i64 {byte}")

    def load_row(self, frame: str, row: int) -> str:
        """A row of a frame."""
        size = 8 * self.target.width
        return self.let(f"load {self.target.vector}, ptr {self.address(frame, row * size)}, align {size}")

    def store_row(self, frame: str, row: int, value: str) -> None:
        """Write a row of a frame."""
        size = 8 * self.target.width
        self.do(f" store {self.target.vector} {value}, ptr {self.address(frame, row * size)}, align {size}")


def sincos_function(target: Target) -> str:
    """``kinecast_sincos``: sine and cosine of a vector; lanes beyond LARGE_ANGLE come from the C library.

    The other lanes keep what the polynomials gave, so that no sample depends on its neighbours.
    """
    w = Writer(target)
    v, i64s, mask = target.vector, target.integers, target.mask
    magnitude = w.intrinsic("fabs", "%x")
    large = w.let(f"fcmp ogt {v} {magnitude}, {w.splat(LARGE_ANGLE)}")
    shifted = w.fma("%x", w.splat(2 / math.pi), w.splat(ROUND))
    quadrant = w.exact("fsub", shifted, w.splat(ROUND))
    rest = "%x"
    for part in HALF_PI:
        rest = w.fma(quadrant, w.splat(-part), rest)
    z = w.op("fmul", rest, rest)
    p, c = w.splat(SIN[0]), w.splat(COS[0])
    for s_k, c_k in zip(SIN[1:], COS[1:], strict=True):
        p, c = w.fma(p, z, w.splat(s_k)), w.fma(c, z, w.splat(c_k))
    sine = w.fma(w.op("fmul", rest, z), p, rest)
    cosine = w.fma(w.op("fmul", z, z), c, w.fma(z, w.splat(-0.5), w.splat(1.0)))
    bits = w.let(f"bitcast {v} {shifted} to {i64s}")
    odd = w.let(f"trunc {i64s} {bits} to {mask}")
    first = w.let(f"select {mask} {odd}, {v} {cosine}, {v} {sine}")
    second = w.let(f"select {mask} {odd}, {v} {sine}, {v} {cosine}")
    next_bits = w.let(f"add {i64s} {bits}, splat (i64 1)")
    small = []
    for value, sign_bits in ((first, bits), (second, next_bits)):
        two = w.let(f"and {i64s} {sign_bits}, splat (i64 2)")
        sign = w.let(f"shl {i64s} {two}, splat (i64 62)")
        raw = w.let(f"bitcast {v} {value} to {i64s}")
        flipped = w.let(f"xor {i64s} {raw}, {sign}")
        small.append(w.let(f"bitcast {i64s} {flipped} to {v}"))

    def give(values: list[str]) -> None:
        pair = w.let(f"insertvalue {{{v}, {v}}} poison, {v} {values[0]}, 0")
        pair = w.let(f"insertvalue {{{v}, {v}}} {pair}, {v} {values[1]}, 1")
        w.do(f" ret {{{v}, {v}}} {pair}")

    any_large = w.let(f"call i1 @llvm.vector.reduce.or.v{target.width}i1({mask} {large})")
    w.do(f" br i1 {any_large}, label %library, label %polynomials\npolynomials:")
    give(small)
    w.do("library:")
    exact = [lane_by_lane(w, name, ["%x"]) for name in ("sin", "cos")]
    give([w.let(f"select {mask} {large}, {v} {e}, {v} {s}") for e, s in zip(exact, small, strict=True)])
    declares = "\n".join(sorted(w.used))
    return f"""{declares}
declare i1 @llvm.vector.reduce.or.v{target.width}i1({mask})
define {{{v}, {v}}} @kinecast_sincos({v} %x) nounwind {{
{w.body()}
}}
"""


def lane_by_lane(w: Writer, name: str, vectors: list[str]) -> str:
    """A function of the C library, on each lane by itself."""
    t = w.target
    w.used.add(f"declare double @{name}({', '.join(['double'] * len(vectors))})")
    result = "poison"
    for lane in range(t.width):
        scalars = [w.let(f"extractelement {t.vector} {x}, i64 {lane}") for x in vectors]
        value = w.let(f"call double @{name}({', '.join(f'double {s}' for s in scalars)})")
        result = w.let(f"insertelement {t.vector} {result}, double {value}, i64 {lane}")
    return result


ARITHMETIC = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
COMPARE = {Op.LT: "olt", Op.LE: "ole", Op.EQ: "oeq", Op.NE: "une"}
UNARY = {Op.SQRT: "sqrt", Op.ABS: "fabs", Op.FLOOR: "floor", Op.CEIL: "ceil"}


class ChunkWriter:
    """One chunk as an LLVM function ``void name(ptr frame)``."""

    def __init__(self, schedule: Schedule, chunk: Chunk, target: Target) -> None:
        self.schedule, self.chunk, self.target = schedule, chunk, target
        self.w = Writer(target)
        self.names: dict[int, str] = {}
        self.angles: dict[str, str] = {}

    def operand(self, a: int) -> str:
        """The register of an operand, loaded or negated if need be."""
        program, v = self.schedule.program, a >> 1
        if program.code[v] == Op.CONST:
            return self.w.splat(-program.args[v][0] if a & 1 else program.args[v][0])
        if v not in self.names:
            self.names[v] = self.w.load_row("%frame", self.chunk.loads[v])
        return self.w.negative(self.names[v]) if a & 1 else self.names[v]

    def text(self, name: str) -> str:
        """The function, with the declarations it needs."""
        for v in self.chunk.values:
            self.names[v] = self.compute(v)
            for row in self.chunk.stores.get(2 * v, ()):
                self.w.store_row("%frame", row, self.names[v])
        computed = {2 * v for v in self.chunk.values}
        for a, rows in self.chunk.stores.items():
            if a not in computed:
                value = self.operand(a)
                for row in rows:
                    self.w.store_row("%frame", row, value)
        declares = "\n".join(sorted(self.w.used))
        body = "\n".join(self.w.lines)
        return f"{declares}\ndefine void @{name}(ptr noalias %frame) nounwind {{\n{body}\n ret void\n}}\n"

    def compute(self, v: int) -> str:
        """The register of a value of this chunk."""
        program, w, t = self.schedule.program, self.w, self.target
        op, args = program.code[v], program.args[v]
        if op in (Op.SIN, Op.COS):
            return self.trig(op, self.operand(args[0]))
        if op == Op.LIBM1 or op == Op.LIBM2:
            return lane_by_lane(w, args[-1], [self.operand(a) for a in args[:-1]])
        x = [self.operand(a) for a in args]
        if op in ARITHMETIC:
            return w.op(ARITHMETIC[Op(op)], *x)
        if op == Op.FMA:
            return w.fma(x[0], x[1], x[2])
        if op == Op.FNMA:
            return w.fma(w.negative(x[0]), x[1], x[2])
        if op == Op.FMS:
            return w.fma(x[0], x[1], w.negative(x[2]))
        if op in UNARY:
            return w.intrinsic(UNARY[Op(op)], *x)
        if op in COMPARE:
            return self.truth(w.let(f"fcmp {COMPARE[Op(op)]} {t.vector} {x[0]}, {x[1]}"))
        if op in (Op.MIN, Op.MAX):
            return self.extremum("olt" if op == Op.MIN else "ogt", *x)
        nonzero = [w.let(f"fcmp une {t.vector} {a}, zeroinitializer") for a in (x[:1] if op == Op.SELECT else x)]
        if op == Op.SELECT:
            return w.let(f"select {t.mask} {nonzero[0]}, {t.vector} {x[1]}, {t.vector} zeroinitializer")
        if op == Op.NOT:
            return self.truth(w.let(f"xor {t.mask} {nonzero[0]}, splat (i1 true)"))
        return self.truth(w.let(f"{'and' if op == Op.AND else 'or'} {t.mask} {nonzero[0]}, {nonzero[1]}"))

    def truth(self, mask: str) -> str:
        """1 where a mask is set, 0 elsewhere."""
        t = self.target
        return self.w.let(f"select {t.mask} {mask}, {t.vector} {self.w.splat(1.0)}, {t.vector} zeroinitializer")

    def extremum(self, compare: str, x: str, y: str) -> str:
        """The C library's fmin and fmax but for NaN, which wins here: it must not vanish from its lane."""
        t, w = self.target, self.w
        first = w.let(f"fcmp {compare} {t.vector} {x}, {y}")
        chosen = w.let(f"select {t.mask} {first}, {t.vector} {x}, {t.vector} {y}")
        nan = w.let(f"fcmp uno {t.vector} {x}, {x}")
        return w.let(f"select {t.mask} {nan}, {t.vector} {x}, {t.vector} {chosen}")

    def trig(self, op: int, angle: str) -> str:
        """Sine or cosine of a register; both come from one call."""
        v = self.target.vector
        if angle not in self.angles:
            self.w.used.add(f"declare {{{v}, {v}}} @kinecast_sincos({v})")
            self.angles[angle] = self.w.let(f"call {{{v}, {v}}} @kinecast_sincos({v} {angle})")
        return self.w.let(f"extractvalue {{{v}, {v}}} {self.angles[angle]}, {0 if op == Op.SIN else 1}")
