"""The log of commands that run for long: lines on standard error, with UTC times."""

import logging
import time

__all__ = ["log_to_stderr"]


def log_to_stderr() -> None:
    """Log with UTC times."""
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for library in ("httpx", "httpx2", "httpcore", "lightkube"):
        # Each request is not worth a line.
        logging.getLogger(library).setLevel(logging.WARNING)
    # A full disk or a closed pipe behind standard error is nothing to fail of.
    logging.raiseExceptions = False
