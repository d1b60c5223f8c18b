"""URDF files: links, joints and inertias as a `Structure`; what is not used is listed in its notes.

A URDF joint and its child link become one joint with one body, under the joint's name; the link's name is kept as a
point at the body's origin. The root link is the ground unless it is asked to float.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, get_args
from xml.parsers import expat

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.files import Source
from kinecast.mechanism.compound import free, planar
from kinecast.mechanism.geometry import Transform
from kinecast.mechanism.joints import Joint, Kind, Limits, Point
from kinecast.mechanism.model import Structure

_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
_TYPES = (*_KINDS, "floating", "planar")

# The elements that are used, by the element they stand in; all others are listed.
_USED = {
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("parent", "child", "origin", "axis", "limit"),
}
_UNUSED = {
    "visual": "shapes to look at",
    "collision": "shapes to collide with",
    "dynamics": "friction and damping of joints",
    "mimic": "joints that follow another: here they move on their own",
}

_ALIKE = 0.75  # how alike (difflib) an unknown element must be to one that is used to be taken for a misspelling


@dataclass(eq=False)
class Element:
    """An XML element and the line it starts at."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The child elements called `tag`."""
        return [child for child in self.children if child.tag == tag]

    def __str__(self) -> str:
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f"<{self.tag} name={name!r}>"


def parse(text: str, name: str, *, floating: bool = False, allow_unphysical: bool = False) -> Structure:
    """The mechanism in the `text` of a URDF file called `name`; `floating`: the root link moves freely."""
    robot = _xml(text, name)
    return _Reader(name, robot).structure(floating=floating, allow_unphysical=allow_unphysical)


class _Reader:
    """One URDF file on its way to a structure; `fail` makes the errors."""

    def __init__(self, source: str, robot: Element) -> None:
        self.source = source
        self.robot = robot
        if robot.tag != "robot":
            raise self.fail(robot, "a URDF must start with <robot name=...>")
        self.unused: Counter[str] = Counter()
        self._look_for_strangers(robot, "robot")
        self.links = self._named("link")
        self.joint_elements = self._named("joint")
        self.root = self._root()

    def fail(self, element: Element, message: str, like: InputError | None = None) -> InputError:
        """The error to raise about an element."""
        return Source(self.source, {"": element.line}).error("", f"{element}: {message}", like)

    # ---------------------------------------------------------------- the tree of links

    def _named(self, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for element in self.robot.all(tag):
            name = self.word(element, "name")
            if name in found:
                raise self.fail(element, f"a <{tag}> of line {found[name].line} already has this name")
            found[name] = element
            self._look_for_strangers(element, tag)
            for inertial in element.all("inertial"):
                self._look_for_strangers(inertial, "inertial")
        return found

    def _root(self) -> str:
        """The link that is no joint's child; checks that there is one, and that no link has two parents."""
        carried: dict[str, Element] = {}
        for joint in self.joint_elements.values():
            child = self.end(joint, "child")
            if child in carried:
                raise self.fail(
                    joint, f"its child {child!r} is already the child of {carried[child]}; loops are not URDF"
                )
            self.end(joint, "parent")
            carried[child] = joint
        roots = [link for link in self.links if link not in carried]
        if not self.links:
            raise self.fail(self.robot, "there is no <link>")
        if not roots:
            raise self.fail(self.robot, "every link is the child of a joint: a cycle; one link must be the root")
        if len(roots) > 1:
            raise self.fail(
                self.links[roots[1]],
                f"is not joined to {roots[0]!r}: only one link may be without a parent; join them, type fixed perhaps",
            )
        return roots[0]

    def end(self, joint: Element, tag: str) -> str:
        """The name of a joint's parent or child link."""
        element = self.one(joint, tag)
        if element is None:
            raise self.fail(joint, f"<{tag} link=...> is missing")
        link = self.word(element, "link")
        if link not in self.links:
            wrong = unknown("link", link, self.links)
            raise self.fail(element, str(wrong), like=wrong)
        return link

    def structure(self, *, floating: bool, allow_unphysical: bool) -> Structure:
        """The mechanism."""
        made: dict[str, tuple[Joint, ...]] = {}  # of every link: the joints that carry it
        if floating:
            with self.about(self.links[self.root]):
                made[self.root] = free(self.root, **self.body(self.root))
        carriers = {self.end(joint, "child"): joint for joint in self.joint_elements.values()}
        for link, element in carriers.items():
            with self.about(element):
                made[link] = self.joints(element, self.body(link))
        bodies = {link: joints[-1].name for link, joints in made.items()}
        parents = {link: bodies.get(self.end(element, "parent")) for link, element in carriers.items()}
        joints: list[Joint] = []
        origins: list[Element] = []  # of every joint: the element to blame
        for link, parts in made.items():
            joints += [replace(parts[0], parent=parents.get(link)), *parts[1:]]
            origins += [carriers.get(link, self.links[link])] * len(parts)
        if not any(joint.moves for joint in joints):
            raise self.fail(self.robot, "no joint moves (floating=True would let the root link move)")
        try:
            return Structure(
                self.robot.attributes.get("name") or Path(self.source).stem,
                tuple(joints),
                points=self.points(bodies, {joint.name for joint in joints}),
                notes=self.notes(bodies, {joint.name for joint in joints}),
                allow_unphysical=allow_unphysical,
            )
        except InputError as error:
            raise self.fail(self._culprit(error, origins), str(error), like=error) from None

    def _culprit(self, error: InputError, origins: list[Element]) -> Element:
        """The element that an error of the whole structure is about."""
        found = re.fullmatch(r"joints\[(\d+)\]\.(\w+)", error.key or "")
        if found is None:
            return self.robot
        element = origins[int(found[1])]
        if found[2] != "inertia":
            return element
        link = self.links[self.end(element, "child")] if element.tag == "joint" else element
        return self.one(link, "inertial") or link

    def joints(self, element: Element, body: dict[str, Any]) -> tuple[Joint, ...]:
        """The one-coordinate joints of a <joint>, the last of which carries `body`."""
        name = self.word(element, "name")
        kind = self.word(element, "type")
        if kind not in _TYPES:
            raise unknown("joint type", kind, _TYPES)
        before = self.pose(element)
        axis_element = self.one(element, "axis")
        axis = self.numbers(axis_element, "xyz", 3, (1.0, 0.0, 0.0))
        limit = self.one(element, "limit")
        if kind in _KINDS:
            if kind != "fixed":
                body = body | {"axis": axis, "limits": self.limits(limit, kind)}
            return (Joint(name, _KINDS[kind], before=before, **body),)
        if limit is not None:
            self.unused["limit"] += 1
        if kind == "planar":
            return planar(name, axis, before=before, **body)
        return free(name, before=before, **body)

    def limits(self, element: Element | None, kind: str) -> Limits:
        """Bounds of a joint; position has none where the file gives none, or where the joint is continuous."""
        if element is None:
            return Limits()
        bounds: dict[str, Any] = {}  # a lone number is a symmetric bound
        if kind != "continuous" and {"lower", "upper"} & set(element.attributes):
            bounds["q"] = [self.numbers(element, key, 1, (0.0,))[0] for key in ("lower", "upper")]
        for ours, theirs in (("v", "velocity"), ("tau", "effort")):
            if theirs in element.attributes:
                bounds[ours] = self.number(element, theirs)
        with self.about(element):
            return Limits(**bounds)

    def body(self, link: str) -> dict[str, Any]:
        """mass, com and inertia of a link, in the axes of its frame."""
        element = self.one(self.links[link], "inertial")
        if element is None:
            return {}
        mass, inertia = self.one(element, "mass"), self.one(element, "inertia")
        if mass is None or inertia is None:
            raise self.fail(element, f"of link {link!r}: <{'mass' if mass is None else 'inertia'}> is missing")
        pose = self.pose(element)
        xx, yy, zz, xy, xz, yz = (self.number(inertia, key) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if not np.array_equal(pose.rotation, np.eye(3)):
            matrix = pose.rotation @ matrix @ pose.rotation.T
            matrix = 0.5 * (matrix + matrix.T)
        weight = self.number(mass, "value")
        if weight < 0:
            raise self.fail(mass, f"of link {link!r}: must be 0 or more, got {weight:g}")
        return {"mass": weight, "com": pose.translation, "inertia": matrix}

    def points(self, bodies: dict[str, str], taken: set[str]) -> tuple[Point, ...]:
        """Every link as a point at the origin of its body, where the name is not a joint's.

        So is every joint of several coordinates, whose name no joint of the structure has.
        """
        places: dict[str, str | None] = {link: bodies.get(link) for link in self.links}
        for name, element in self.joint_elements.items():
            if name not in taken:
                places.setdefault(name, bodies[self.end(element, "child")])
        return tuple(Point(name, joint) for name, joint in places.items() if name not in taken)

    def notes(self, bodies: dict[str, str], taken: set[str]) -> tuple[str, ...]:
        """What of the file is not used, or is not where one would look for it."""
        notes = []
        inertial = self.one(self.links[self.root], "inertial")
        if inertial is not None and self.root not in bodies:
            notes.append(f"the root link {self.root!r} is the ground: its mass and inertia are not used")
        moved = [link for link in self.links if link in taken and bodies.get(link) != link]
        notes += [
            f"the name {link!r} is a link's and also a joint's: as a place it means the joint's" for link in moved
        ]
        if self.unused:
            named = [
                f"{n} <{tag}>" + (f" ({_UNUSED[tag]})" if tag in _UNUSED else "") for tag, n in self.unused.items()
            ]
            notes.append(f"not used: {', '.join(named)}")
        return tuple(notes)

    # ---------------------------------------------------------------- elements and attributes

    def _look_for_strangers(self, element: Element, tag: str) -> None:
        """Count what will not be used; refuse what looks like a misspelt element that would be."""
        for child in element.children:
            if child.tag in _USED[tag]:
                continue
            if "xacro:" in child.tag:
                raise self.fail(child, "is a macro; expand the file with the program xacro first")
            alike = get_close_matches(child.tag, _USED[tag], n=1, cutoff=_ALIKE)
            if alike:
                raise self.fail(child, f"is not known in {element}; did you mean <{alike[0]}>?")
            self.unused[child.tag] += 1

    @contextmanager
    def about(self, element: Element) -> Iterator[None]:
        """Errors raised inside that do not say where yet are about `element`."""
        try:
            yield
        except InputError as error:
            if str(error).startswith(f"{self.source}, "):
                raise
            raise self.fail(element, str(error), like=error) from None

    def one(self, element: Element, tag: str) -> Element | None:
        """The child element called `tag`, if there is one; two are an error."""
        found = element.all(tag)
        if len(found) > 1:
            raise self.fail(found[1], f"{element} has one already, in line {found[0].line}")
        return found[0] if found else None

    def pose(self, element: Element) -> Transform:
        """The <origin> in an element; the identity where there is none."""
        origin = self.one(element, "origin")
        zero = (0.0, 0.0, 0.0)
        return Transform.from_xyz_rpy(self.numbers(origin, "xyz", 3, zero), self.numbers(origin, "rpy", 3, zero))

    def word(self, element: Element, key: str) -> str:
        """A text attribute, which must be there."""
        if key not in element.attributes:
            raise self.fail(element, f"the attribute {key} is missing")
        return element.attributes[key]

    def numbers(
        self, element: Element | None, key: str, n: int, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """The `n` finite numbers in an attribute; `default` where it or its element is missing."""
        if element is None or key not in element.attributes:
            if default is None:
                assert element is not None
                raise self.fail(element, f"the attribute {key} is missing")
            return default
        text = element.attributes[key]
        if "${" in text:
            raise self.fail(element, f"{key} is a macro, {text!r}; expand the file with the program xacro first")
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            values = ()
        if len(values) != n or not all(isfinite(x) for x in values):
            raise self.fail(element, f"{key} must be {n} finite number{'s' if n > 1 else ''}, got {text!r}")
        return values

    def number(self, element: Element, key: str) -> float:
        """The finite number in an attribute, which must be there."""
        return self.numbers(element, key, 1)[0]


def _xml(text: str, name: str) -> Element:
    """The outermost element of an XML text."""
    top = Element("", {}, 0)
    path = [top]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(Element(tag, attributes, parser.CurrentLineNumber))
        path[-2].children.append(path[-1])

    def refuse_entity(entity: str, *_: object) -> None:
        raise Source(name, {"": parser.CurrentLineNumber}).error("", f"entities (&{entity};) are not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        where = Source(name, {"": error.lineno})
        raise where.error("", f"is not XML: {expat.ErrorString(error.code)}") from None
    return top.children[0]
