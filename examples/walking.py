"""A person walks: predicted, checked, compared with normal gait, drawn.

    python examples/walking.py [--speed 1.2] [--picture walk.png] [--run FOLDER]

The picture shows one stride from the side and from behind, with the force of the ground in red.
"""

import argparse

import kinecast
from kinecast.human.walking.figures import strip


def main() -> None:
    """Predict, print what gait laboratories report, leave what was asked for."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--speed", type=float, default=1.2, help="m/s")
    options.add_argument("--picture", help="a file for the stick figures")
    options.add_argument("--run", help="a folder for motion, numbers and report")
    chosen = options.parse_args()

    man = kinecast.human(1.75, 75, "male", freeze="walking")
    walk = kinecast.walk(man, chosen.speed)
    print(f"{walk.status}: {walk.message}")
    gait, check = walk.gait, walk.check()
    first, valley, second = gait["vertical_grf_peaks_bw"]
    print(f"steps of {gait['step_length']:.2f} m, {gait['cadence']:.0f} a minute")
    print(f"the ground pushes with {first:.2f}, {valley:.2f}, {second:.2f} body weights")
    print(f"the ankle extends with {gait['peak_moment_nm_per_kg']['ankle_plantarflexion']:.2f} N m/kg")
    for entry in gait["normative"]:
        print(f"  {entry['curve'].replace('_', ' '):16} correlation with normal gait {entry['r']:.3f}")
    print(f"integrated forward, the step ends {1000 * check.forward_error:.3f} mm from where it was predicted to")
    if chosen.picture:
        strip(walk).savefig(chosen.picture, dpi=75)
    if chosen.run:
        walk.save(chosen.run)


if __name__ == "__main__":
    main()
