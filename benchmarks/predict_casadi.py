"""How long predictions take: a small one, and a larger one beside the same program in plain CasADi and IPOPT.

    python benchmarks/predict_casadi.py [--json]

The small one is the fastest motion of the two-link arm, 20 segments with limits at 5 points of each: the whole solve
with cached kernels, and the part of it that is spent in the program's functions and their derivatives.

Plain means: control points and duration as symbols, torques and joint loads by kinecast's own recursion as a CasADi
function mapped over the grid, derivatives by CasADi's automatic differentiation, exact Hessian, IPOPT with MUMPS. Same
spline, grid, limits, objective, start, scaling and tolerance; so both must end at the same motion.
"""

from __future__ import annotations

import argparse
import json
import time

import casadi as ca
import numpy as np

import kinecast as kc
from kinecast.dynamics.spatial.inverse import inverse_dynamics
from kinecast.dynamics.spatial.loads import joint_loads
from kinecast.dynamics.surroundings import at_rest
from kinecast.dynamics.tree import build, regrouped
from kinecast.predict import guess
from kinecast.predict.solve import Workshop
from kinecast.predict.transcribe import uniform_mesh

REPEATS = 5
SEGMENTS = 30
LOAD_LIMIT = 300.0  # N, every component of the force in the elbow


def two_link() -> dict[str, object]:
    """The small prediction: the least seconds of several solves, and how they are spent."""
    plan = (
        kc.Prediction(kc.load("planar2"), segments=20, check_points=5, duration=(0.1, 3.0), gravity=[0, 0, 0])
        .start(q=[0, -2])
        .end(q=[1, -1])
        .limit(torque=10)
        .minimize(time=1)
    )
    plan.solve()  # compiles, if need be
    runs = [plan.solve() for _ in range(REPEATS)]
    best = min(runs, key=lambda motion: motion.seconds.total)
    spent = best.seconds
    return {
        "T": best.duration,
        "seconds": spent.total,
        "solver and functions": spent.solver,
        "functions": spent.functions,
        "share of functions": spent.functions / spent.total,
        "iterations": best.iterations,
    }


def problem() -> kc.Prediction:
    """PUMA 560 from pose to pose: torque limits of the file, a limit on the elbow force, time and some effort."""
    arm = kc.load("puma560")
    return (
        kc.Prediction(arm, segments=SEGMENTS, duration=(0.2, 4.0))
        .start(q=[0.0, 0.8, -1.5, 0.0, 0.5, 0.0])
        .end(q=[1.2, 1.2, -2.0, 0.5, 0.9, 0.4])
        .limit(position=None, load={"elbow": LOAD_LIMIT})
        .minimize(time=1.0, effort=1e-5)
    )


class Plain:
    """The program as a CasADi user would write it."""

    def __init__(self, plan: kc.Prediction, program) -> None:
        task, grid, structure = plan.task(), program.grid, plan.task().structure
        n = structure.n
        weights = grid.weights(np.ones(1)).W  # of a motion of one second
        matrices = []
        for order in range(3):
            matrix = np.zeros((len(grid.segment), grid.mesh.n_control))
            np.put_along_axis(matrix, grid.control, weights[:, order], axis=1)
            matrices.append(ca.sparsify(ca.DM(matrix)))
        q, v, a = (ca.SX.sym(name, n) for name in "qva")
        around = at_rest(structure)
        tau = inverse_dynamics(regrouped(build(structure)), q, v, a, around)
        limited = [6 * joint + component for joint, component, _, _ in task.load_limits]
        loads = joint_loads(build(structure, keep_fixed=True), q, v, a, around)[limited]
        torques = ca.Function("torques", [q, v, a], [tau])
        both = ca.Function("both", [q, v, a], [ca.vertcat(tau, loads)])
        control, duration = ca.MX.sym("control", n, grid.mesh.n_control), ca.MX.sym("duration")
        motion = [control @ matrix.T / duration**order for order, matrix in enumerate(matrices)]
        checks, gauss = slice(0, grid.n_checks), slice(grid.n_checks, None)
        values = both.map(grid.n_checks)(*(x[:, checks] for x in motion))
        efforts = ca.sum1(torques.map(len(grid.segment) - grid.n_checks)(*(x[:, gauss] for x in motion)) ** 2)
        share = ca.DM(grid.width_map[gauss, 0]).T * duration
        weight = task.objectives
        objective = weight["time"] * duration + weight["effort"] * ca.sum2(efforts * share)
        low = np.concatenate([task.tau_limits[:, 0], [limit[2] for limit in task.load_limits]])
        high = np.concatenate([task.tau_limits[:, 1], [limit[3] for limit in task.load_limits]])
        scale = np.maximum(np.abs(low), np.abs(high))
        x = ca.vertcat(ca.vec(control), duration)
        nlp = {"x": x, "f": objective, "g": ca.vec(values / ca.repmat(ca.DM(scale), 1, grid.n_checks))}
        options = {"tol": 1e-6, "print_level": 0, "sb": "yes", "nlp_scaling_method": "none", "constr_viol_tol": 1e-8}
        options |= {"compl_inf_tol": 1e-8, "bound_relax_factor": 1e-10, "acceptable_tol": 1e-4}
        start = time.perf_counter()
        self.solver = ca.nlpsol("plain", "ipopt", nlp, {"print_time": False, "ipopt": options})
        self.build_seconds = time.perf_counter() - start
        self.bounds = np.tile(low / scale, grid.n_checks), np.tile(high / scale, grid.n_checks)

    def solve(self, program, x0: np.ndarray) -> tuple[float, int, float]:
        """Objective, iterations, seconds."""
        start = time.perf_counter()
        found = self.solver(x0=x0, lbx=program.x_lower, ubx=program.x_upper, lbg=self.bounds[0], ubg=self.bounds[1])
        seconds = time.perf_counter() - start
        return float(found["f"]), self.solver.stats()["iter_count"], seconds


def measure() -> list[dict[str, object]]:
    """One row for each of the two; times are the least of several runs in turn."""
    plan = problem()
    workshop = Workshop.of(plan.task(), lambda _: None)
    program = workshop.program(uniform_mesh(workshop.task))
    x0 = guess.line(workshop.task, program)
    x0 = np.where(program.x_lower == program.x_upper, program.x_lower, x0)
    plain = Plain(plan, program)
    ours, theirs = [], []
    for _ in range(REPEATS):
        fresh = workshop.program(uniform_mesh(workshop.task))  # patterns are made anew: part of the solve
        start = time.perf_counter()
        answer = workshop.solve(fresh, x0)
        ours.append((time.perf_counter() - start, answer.objective, answer.solution.iterations))
        objective, iterations, seconds = plain.solve(program, x0)
        theirs.append((seconds, objective, iterations))
    rows = []
    for name, runs, setting_up in (("kinecast", ours, 0.0), ("plain CasADi + IPOPT", theirs, plain.build_seconds)):
        seconds, objective, iterations = min(runs)
        row = {"program": name, "seconds": seconds, "setting up": setting_up, "iterations": iterations, "J": objective}
        rows.append(row | {"ratio": seconds / min(ours)[0]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")
    as_json = parser.parse_args().json
    small, rows = two_link(), measure()
    if as_json:
        print(json.dumps({"two_link": small, "puma560": rows}, indent=1))
        return
    from kinecast.tables import text_table

    print("planar2, least time, 20 segments, 5 checks a segment, cached kernels")
    print(text_table(list(small), [tuple(small.values())]), end="\n\n")
    print(f"puma560, {SEGMENTS} segments, torque and load limits")
    print(text_table(list(rows[0]), ([row[key] for key in row] for row in rows)))


if __name__ == "__main__":
    main()
