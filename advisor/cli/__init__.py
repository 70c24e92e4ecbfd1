"""The command ``kuberay-advisor``."""

from advisor.cli.entry import main

__all__ = ["main"]
