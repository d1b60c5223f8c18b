"""Motions: positions, velocities and accelerations of a mechanism's joints over time."""
