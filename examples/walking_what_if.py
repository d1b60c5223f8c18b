"""What changes a walk: a backpack, a hill, a stiff knee, a weak ankle; the same man at the same speed.

    python examples/walking_what_if.py

Nothing is compiled anew from case to case: person, load, slope, ranges and strengths are data.
"""

import math

import kinecast

SPEED = 1.2  # m/s


def man(**changed: object) -> kinecast.Mechanism:
    """The man, or what he would be with another strength or range."""
    return kinecast.human(1.75, 75, "male", freeze="walking", **changed)


CASES = {
    "as he is": (man(), {}),
    "15 kg on the back": (man(), {"backpack": 15.0}),
    "5 degrees uphill": (man(), {"incline": 5.0}),
    "knees to 40 degrees": (man(limits={"knee": (0.0, math.radians(40))}), {}),
    "ankles at 60 %": (man(strength={"ankle": 0.6}), {}),
}


def main() -> None:
    """One line a case: effort, swing and the moments of hip, knee and ankle."""
    moments = ("hip_extension", "knee_extension", "ankle_plantarflexion")
    heads = ("effort", "hip deg", "knee deg", *(name.replace("_", " ") for name in moments))
    print(f"{'':20}" + "".join(f"{head:>21}" for head in heads))
    for name, (person, task) in CASES.items():
        walk = kinecast.walk(person, SPEED, **task)
        gait = walk.gait
        low, high = gait["extremes_deg"]["hip"]
        cells = [f"{walk.solution.objective:.2f}", f"{low:.0f} to {high:.0f}", f"{gait['knee_deg']['swing']:.0f}"]
        cells += [f"{gait['peak_moment_nm_per_kg'][moment]:.2f} N m/kg" for moment in moments]
        print(f"{name:20}" + "".join(f"{cell:>21}" for cell in cells))


if __name__ == "__main__":
    main()
