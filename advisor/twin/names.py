"""Names that Kubernetes makes up, made from numbers here, so that equal runs have equal names."""

__all__ = ["object_uid", "reconcile_id", "suffix"]

# The letters that Kubernetes makes names of.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 5
_MASK = (1 << 64) - 1


def suffix(number: int) -> str:
    """What stands behind a generated name; those of fourteen million numbers in a row differ."""
    # A factor without a common divisor with the number of names: each name once before one comes again.
    value = number * 9_999_991 % len(_LETTERS) ** _LENGTH
    letters = []
    for _ in range(_LENGTH):
        value, digit = divmod(value, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(letters)


def reconcile_id(number: int) -> str:
    """The id of a reconcile, in the form of a random UUID."""
    return _uuid(2 * number)


def object_uid(number: int) -> str:
    """The uid of an object, in the form of a random UUID."""
    return _uuid(2 * number + 1)


def _uuid(number: int) -> str:
    digits = f"{_mix(2 * number):016x}{_mix(2 * number + 1):016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _mix(number: int) -> int:
    """Sixty-four bits that look random (the finishing steps of splitmix64)."""
    value = number * 0x9E3779B97F4A7C15 & _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31
