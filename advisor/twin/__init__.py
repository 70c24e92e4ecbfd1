"""The twin: a KubeRay operator in virtual time, calibrated from an operator in real time."""
