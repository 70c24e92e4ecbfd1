from advisor.sidecar.families import ALL
from advisor.signals.sidecarnames import KEY_NAMES, PRIORITY_NAMES, SIDECAR_SELECTION


def test_every_name_is_one_of_the_sidecar_s() -> None:
    """What is kept is exposed, under its very name; of a histogram its sum and count."""
    exposed = {
        f"{family.name}{ending}"
        for family in ALL
        for ending in (("_sum", "_count") if family.type == "histogram" else ("",))
    }
    assert SIDECAR_SELECTION.names <= exposed
    assert SIDECAR_SELECTION.names == KEY_NAMES | PRIORITY_NAMES
    assert not KEY_NAMES & PRIORITY_NAMES
