from typing import Any, Final

import hypothesis
import yaml
from hypothesis import given

from advisor.inject.injection import inject, remove
from advisor.inject.options import ANNOTATION, SIDECAR_NAME, Options
from tests.inject.manifests import streams

OPTIONS: Final = Options(image="advisor:1")
NATIVE: Final = Options(image="mirror/advisor:2", native=True, port=9000, arguments=("--keys=5",))


def loaded(text: str) -> list[Any]:
    """The documents, by a loader that knows nothing of the injection."""
    return list(yaml.safe_load_all(text))


def operator(documents: list[Any]) -> Any:  # noqa: ANN401 - as it is written
    """The operator's Deployment."""
    whole = [item for each in documents if each for item in each.get("items", [each])]
    (found,) = (
        each for each in whole if each.get("kind") == "Deployment" and each["metadata"]["name"] == "kuberay-operator"
    )
    return found


def pruned(value: Any) -> Any:  # noqa: ANN401 - any document
    """A document without what is empty."""
    if isinstance(value, dict):
        return {key: inner for key, item in value.items() if (inner := pruned(item)) not in (None, {}, [])}
    return [pruned(item) for item in value] if isinstance(value, list) else value


@given(streams())
@hypothesis.settings(max_examples=20)
def test_round_trip(text: str) -> None:
    """Doing it twice changes nothing, with other options it is as if done once with those, and removing gives the very
    input back.
    """
    once, native = inject(text, OPTIONS), inject(text, NATIVE)
    assert once.changed
    again = inject(once.text, OPTIONS)
    assert not again.changed
    assert again.text is once.text
    assert inject(once.text, NATIVE).text == native.text
    assert inject(native.text, OPTIONS).text == once.text
    assert remove(once.text, OPTIONS).text == text
    assert remove(native.text, OPTIONS).text == text
    assert remove(text, OPTIONS).text is text


@given(streams())
@hypothesis.settings(max_examples=15)
def test_only_that_differs(text: str) -> None:
    """Read by another loader, the result is the input and the sidecar, with all that it needs."""
    documents = loaded(inject(text, OPTIONS).text)
    template = operator(documents)["spec"]["template"]
    pod, metadata = template["spec"], template["metadata"]
    sidecar = pod["containers"].pop()
    (container,) = (each for each in pod["containers"] if each["name"] == "kuberay-operator")
    (mount,) = sidecar["volumeMounts"]
    assert sidecar["name"] == SIDECAR_NAME
    assert mount["readOnly"] is True
    assert mount["name"] in {each["name"] for each in container["volumeMounts"]}
    assert metadata["annotations"].pop(ANNOTATION).startswith('{"version":1,')
    if mount["name"] == "kuberay-logs":
        assert container["volumeMounts"].pop() == {"name": "kuberay-logs", "mountPath": mount["mountPath"]}
        assert pod["volumes"].pop() == {"name": "kuberay-logs", "emptyDir": {}}
    if container["args"][0].startswith("--log-file-path=/var/log"):
        container["args"].pop(0)
    assert pruned(documents) == pruned(loaded(text))


@given(streams())
@hypothesis.settings(max_examples=15)
def test_live_object(text: str) -> None:
    """An object that was applied, and is read back sorted and without comments, has nothing to change, and without the
    sidecar it is what it was.
    """
    live = yaml.safe_dump(operator(loaded(inject(text, NATIVE).text)))
    assert not inject(live, NATIVE).changed
    assert pruned(loaded(remove(live, NATIVE).text)) == pruned([operator(loaded(text))])
