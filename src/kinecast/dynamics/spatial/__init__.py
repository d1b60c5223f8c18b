"""The fast default: Newton's and Euler's equations over the frames of `kinecast.dynamics.tree`.

`inverse` (torques, joint loads), `sensitivities` (of both), `forward` (accelerations, the inverse mass matrix),
`inertia` (mass matrix), `regressor`. All are plain functions over CasADi columns, for one sample.
"""
