"""What was added, as an annotation of the Pod template keeps it: enough to find it in any form, and to take it out."""

import msgspec

from advisor.errors import InputFormatError
from advisor.inject.editing import dig, scalar_of
from advisor.inject.operator import Manifest
from advisor.inject.options import ANNOTATION

__all__ = ["Record", "encode", "record_of"]

_VERSION = 1


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One injection.

    Attributes:
        version: of this form.
        container: the operator's.
        list: which of the Pod's lists has the sidecar.
        volume: name of the volume that was added, "" if none was.
        mount: where it is mounted in the operator's container, likewise.
        argument: what was put in front of the operator's arguments, likewise.
        config: name and key of the ConfigMap that got the log's path, likewise.
        path: that path.
        created: lists and mappings that were made since they were missing.
        was: what stood for those that were null.
    """

    version: int
    container: str
    list: str
    volume: str = ""
    mount: str = ""
    argument: str = ""
    config: str = ""
    path: str = ""
    created: tuple[str, ...] = ()
    was: dict[str, str] = {}


def encode(record: Record) -> str:
    """The record on one line."""
    return msgspec.json.encode(record).decode()


def record_of(deployment: Manifest) -> Record | None:
    """The record of a Deployment, None where nothing was added.

    Raises:
        InputFormatError: it cannot be understood.
    """
    text = scalar_of(
        dig(deployment.get("spec", "template", "metadata", "annotations"), ANNOTATION, text=deployment.text)
    )
    if text is None:
        return None
    hint = "take the sidecar out with the release that put it in, or by hand"
    try:
        record = msgspec.json.decode(text, type=Record)
    except msgspec.DecodeError as error:
        raise InputFormatError(f"the annotation {ANNOTATION} is damaged: {error}", hint=hint) from error
    if record.version != _VERSION:
        raise InputFormatError(f"the annotation {ANNOTATION} is of another release", hint=hint)
    return record
