"""A lifting study: 5, 10 and 15 kg from 0.2 m to 1.0 m, lifted by a man and a woman.

python examples/lifting_study.py            # a table; a few seconds a lift, the first one compiles
python examples/lifting_study.py study/     # also a run folder with a report for each lift
"""

import sys
from pathlib import Path

import kinecast as kc

PEOPLE = {"man": kc.human(1.75, 75, "male"), "woman": kc.human(1.62, 60, "female")}
COLUMNS = ("", "load", "status", "lift", "knees", "trunk", "work of knees, hips, trunk", "L5/S1", "shear", "NIOSH LI")
WIDTHS = (6, 6, 8, 7, 11, 7, 26, 7, 6, 13)


def row(who, mass, lift):
    """One line of the table: how it was lifted, and what it asked for."""
    ranges, share = lift.figures["range_deg"], lift.figures["work_share"]
    back, index = lift.ergonomics.summary()["l5s1"], lift.niosh
    cells = (
        who,
        f"{mass} kg",
        lift.status,
        f"{lift.duration:.2f} s",
        "{:.0f}-{:.0f} deg".format(*ranges["knee"]),
        f"{ranges['trunk'][1]:.0f} deg",
        ", ".join(f"{100 * share[part]:.0f} %" for part in ("knees", "hips", "trunk")),
        f"{back['peak_compression_n']:.0f} N",
        f"{back['peak_shear_n']:.0f} N",
        f"{index['origin'].index:.2f} to {index['destination'].index:.2f}",
    )
    return line(cells)


def line(cells):
    """Cells side by side."""
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def main():
    """Predict, print, and save where a folder is given."""
    print(line(COLUMNS))
    for who, person in PEOPLE.items():
        for mass in (5, 10, 15):
            lift = kc.lift(person, mass, from_=0.2, to=1.0)
            print(row(who, mass, lift), flush=True)
            if len(sys.argv) > 1:
                lift.save(Path(sys.argv[1]) / f"{who}_{mass}kg")


if __name__ == "__main__":
    main()
