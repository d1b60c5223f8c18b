"""Motions predicted: a problem becomes a sparse nonlinear program, a solver's answer a motion or a reason in words."""
