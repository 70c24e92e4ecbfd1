"""Puts the sidecar into the manifest of a KubeRay operator, as text, so that nothing else in it changes."""
