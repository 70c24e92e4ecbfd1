"""Write a bill of materials, CycloneDX 1.6 as JSON: what an install brings, with digests, licences, and who needs whom.

``python -m scripts.sbom --installed DIR --out FILE`` with the environment of ``requirements/sbom.txt``, from the root
of the repository. DIR is an environment that holds the pinned distributions, whose metadata says their licences. The
same lock file and date (SOURCE_DATE_EPOCH) give the same bytes.
"""

import argparse
import base64
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from advisor import __version__
from scripts.licences import Installed, installed, licence_of
from scripts.locks import ROOT, Pin, pins

_NAME = "kuberay-advisor"
_MARKER = "kuberay-advisor:environment-marker"
_NPM = ROOT / "tests" / "browser" / "package-lock.json"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:kuberay-advisor:bill-of-materials")


def bill(locked: Sequence[Pin], environment: Installed, built: Iterable[Path], when: datetime) -> str:
    """The document; ``built`` are the project's own files, whose digests go in."""
    root = _component(_NAME, __version__, "Apache-2.0", kind=ComponentType.APPLICATION)
    root.hashes.update(HashType(alg=HashAlgorithm.SHA_256, content=_sha256(path)) for path in built)
    vendored = _vendored("uplot")
    components = {pin: _locked(pin, environment) for pin in locked}
    serial = uuid.uuid5(_NAMESPACE, repr((__version__, sorted(locked, key=repr), when, sorted(map(str, root.hashes)))))
    metadata = BomMetaData(component=root, timestamp=when)
    bom = Bom(components=[*components.values(), vendored], serial_number=serial, metadata=metadata)
    bom.register_dependency(root, [vendored, *(components[pin] for pin in locked if _is_asked_for(pin, locked))])
    for asking in locked:
        bom.register_dependency(components[asking], [components[pin] for pin in locked if asking.name in pin.needed_by])
    return str(JsonV1Dot6(bom).output_as_string(indent=1)) + "\n"


def _is_asked_for(pin: Pin, locked: Sequence[Pin]) -> bool:
    """Whether the project itself needs it: the file that was locked is named, not one of the others."""
    return not {one.name for one in locked}.issuperset(pin.needed_by)


def _locked(pin: Pin, environment: Installed) -> Component:
    licence, declared = licence_of(pin.name, environment)
    component = _component(pin.name, pin.version, licence, declared=declared)
    component.hashes.update(HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in pin.sha256)
    if pin.marker:
        component.properties.add(Property(name=_MARKER, value=pin.marker))
    return component


def _vendored(name: str) -> Component:
    """What the pages contain, of npm."""
    entry = json.loads(_NPM.read_text(encoding="utf-8"))["packages"][f"node_modules/{name}"]
    component = _component(name, entry["version"], entry["license"], kind_of_package="npm")
    digest = base64.b64decode(entry["integrity"].removeprefix("sha512-")).hex()
    component.hashes.add(HashType(alg=HashAlgorithm.SHA_512, content=digest))
    return component


def _component(
    name: str,
    version: str,
    licence: str,
    *,
    declared: bool = True,
    kind: ComponentType = ComponentType.LIBRARY,
    kind_of_package: str = "pypi",
) -> Component:
    if not licence:
        raise LookupError(f"{name}: its licence is not known; read it and name it in scripts/licences.py")
    how = LicenseAcknowledgement.DECLARED if declared else LicenseAcknowledgement.CONCLUDED
    purl = PackageURL(kind_of_package, name=name, version=version)
    return Component(
        name=name,
        version=version,
        type=kind,
        bom_ref=str(purl),
        purl=purl,
        licenses=[LicenseFactory().make_from_string(licence, license_acknowledgement=how)],
    )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the document; 1 where it is not one by the schema."""
    parser = argparse.ArgumentParser(description="Write a bill of materials, CycloneDX 1.6 as JSON.")
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements" / "runtime.txt", help="default: %(default)s")
    parser.add_argument("--installed", type=Path, required=True, help="an environment with what the lock file pins")
    parser.add_argument("--built", type=Path, nargs="*", default=[], help="the project's own wheel and sdist")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    folders = [str(folder) for folder in given.installed.glob("lib/python*/site-packages")]
    when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "1580601600")), UTC)
    text = bill(list(pins(given.lock)), installed(folders), given.built, when)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        sys.stderr.write(f"{given.out}: not CycloneDX 1.6: {wrong}\n")
        return 1
    given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
