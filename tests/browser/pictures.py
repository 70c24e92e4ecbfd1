"""Pictures for README and docs: the demo's own pages, as Chromium shows them.

``make pictures``, or ``python -m tests.browser.pictures`` from the root of the repository, writes them to
docs/pictures. They differ from run to run, as the demo is live; what they show and how large they are is the same.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser

from tests.browser.chromium import Watch, opened, started
from tests.served import port_of
from tests.support import ROOT, until

__all__ = ["LARGEST_BYTES", "PICTURES", "SHOWN", "Picture"]

PICTURES: Final = ROOT / "docs" / "pictures"
LARGEST_BYTES: Final = 200_000
_DEMO: Final = (sys.executable, "-c", "from advisor.cli import main; main()", "demo", "--listen-port", "0")


class Picture(NamedTuple):
    """What is taken: an address of the demo, and the size of the window in pixels."""

    path: str
    width: int
    height: int


SHOWN: Final = {
    "page-fleet.png": Picture("/", 1200, 520),
    "page-operator.png": Picture("/operators/kuberay", 1200, 1130),
    "page-changes.png": Picture("/changes/kuberay", 1200, 560),
}


def main() -> int:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "told"
        with log.open("w") as file, subprocess.Popen(_DEMO, stderr=file, cwd=folder) as process:
            try:
                until(lambda: "from now on two simulated operators are live" in log.read_text(), 120.0)
                with started() as browser:
                    _take(browser, f"http://127.0.0.1:{port_of(log)}")
            finally:
                process.terminate()
    return 0


def _take(browser: Browser, address: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with opened(browser, Watch(), base_url=address, timezone_id="UTC", color_scheme="light") as page:
        for name, picture in SHOWN.items():
            page.set_viewport_size({"width": picture.width, "height": picture.height})
            page.goto(picture.path)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURES / name)
            sys.stderr.write(f"{name}: {(PICTURES / name).stat().st_size} bytes\n")


if __name__ == "__main__":
    sys.exit(main())
