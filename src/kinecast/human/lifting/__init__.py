"""Lifting a box, predicted: start and end posture and the motion between, by effort and balance."""
