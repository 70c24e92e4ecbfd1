"""Calls a reconciler and makes an outcome of whatever it does (research: controller-runtime 3.3)."""

import logging
from collections.abc import Callable
from dataclasses import replace

from advisor.queueing.outcome import Failure, Outcome, outcome_of_error
from advisor.runtime.context import ReconcileContext, ReconcileRequest

__all__ = ["LOGGER", "Reconciler", "one_line", "reconcile"]

LOGGER = logging.getLogger("advisor.runtime")

Reconciler = Callable[[ReconcileRequest, ReconcileContext], Outcome]
"""Brings one object to its wanted state, or says how far it came.

It reports a failure with `ReconcileError` or `TerminalError`; any other exception is a breakdown.
"""


def reconcile(
    controller: str, reconciler: Reconciler, request: ReconcileRequest, context: ReconcileContext, *, recover: bool
) -> Outcome | BaseException:
    """Reconcile one key.

    Args:
        controller: name of the controller, for the log.
        reconciler: what to call.
        request: what it is called with.
        context: its limits; the outcome says whether its own deadline had passed, unless it broke down.
        recover: whether a breakdown becomes an outcome.

    Returns:
        The outcome, or the exception that ends the driver.
    """
    try:
        outcome = reconciler(request, context)
        if not isinstance(outcome, Outcome):
            raise TypeError(f"the reconciler returned {type(outcome).__name__}, not an Outcome")  # noqa: TRY301
    except Exception as error:
        outcome = outcome_of_error(error)
        if outcome.failure is Failure.PANIC:
            what = "broke down" if recover else "broke down and ends the controller"
            LOGGER.error("%s: reconcile of %s %s: %s", controller, request.key, what, one_line(error))  # noqa: TRY400
            LOGGER.debug("%s: reconcile of %s", controller, request.key, exc_info=error)
            return outcome if recover else error
        LOGGER.error("%s: reconcile of %s failed: %s", controller, request.key, one_line(error))  # noqa: TRY400
    except BaseException as error:  # noqa: BLE001 - an interrupt or exit ends the driver, not only this thread
        return error
    else:
        _warn(controller, request, outcome)
    timed_out = outcome.failure is not Failure.PANIC and context.has_timed_out()
    return outcome if outcome.timed_out is timed_out else replace(outcome, timed_out=timed_out)


def one_line(error: BaseException) -> str:
    """Type and message of an exception and where it was raised, on one line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return " ".join(f"{type(error).__name__}: {error}{where}".split())


def _warn(controller: str, request: ReconcileRequest, outcome: Outcome) -> None:
    if outcome.failure is None:
        return
    LOGGER.error("%s: reconcile of %s failed: %s", controller, request.key, outcome.failure.value)
    if outcome.requeue or outcome.requeue_after_ns > 0:
        LOGGER.warning("%s: requeue of %s is ignored, as the reconcile failed", controller, request.key)
