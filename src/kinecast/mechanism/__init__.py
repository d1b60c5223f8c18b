"""What moves: joints, bodies, loops, points; DH tables, files, built-in robots. Pure data, no algorithms."""

from kinecast.mechanism.model import DH, Joint, Limits, Loop, Place, Point, Structure, Transform

__all__ = ["DH", "Joint", "Limits", "Loop", "Place", "Point", "Structure", "Transform"]
