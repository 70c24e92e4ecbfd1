import codecs
from pathlib import Path
from typing import Final

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.errors import InputError, InputFormatError, InputNotFoundError
from advisor.model.facts import (
    ClientFacts,
    ControllerFacts,
    DemandFacts,
    Facts,
    OperatorFacts,
    ProcessFacts,
    ScalingPoint,
)
from advisor.sources.facts import read_facts

HINT: Final = "docs/facts-format.md lists the keys, their units and ranges"


def read(folder: Path, content: str | bytes) -> Facts:
    """What a file with that content says."""
    path = folder / "operator.facts.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_facts(path)


def refused(folder: Path, content: str | bytes) -> InputFormatError:
    """The error that a file with that content is; it names the file and ends with 3."""
    with pytest.raises(InputFormatError) as caught:
        read(folder, content)
    assert caught.value.where == str(folder / "operator.facts.yaml")
    assert caught.value.exit_code == 3
    return caught.value


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Each part, with whole numbers where fractions may stand."""
    made = read(
        tmp_path,
        """
        operator: {name: kuberay, version: "1.4.0", queue: classic}
        controllers:
          raycluster: {utilisation: 1, depth_by_priority: {"-100": 90}, scaling: [{workers: 4, items_per_second: 0.3}]}
        client: {qps: -1}
        process: {leader: false, restarts: 2}
        demand: {objects: {pod: 3}}
        missing_metrics: [workqueue_depth]
        """,
    )
    assert made == Facts(
        operator=OperatorFacts(name="kuberay", version="1.4.0", queue="classic"),
        controllers={
            "raycluster": ControllerFacts(
                utilisation=1.0,
                depth_by_priority={"-100": 90.0},
                scaling=(ScalingPoint(workers=4.0, items_per_second=0.3),),
            )
        },
        client=ClientFacts(qps=-1.0),
        process=ProcessFacts(leader=False, restarts=2),
        demand=DemandFacts(objects={"pod": 3}),
        missing_metrics=("workqueue_depth",),
    )


def test_nothing_known_is_a_facts_file_too(tmp_path: Path) -> None:
    """Every key is optional; a null is an absent key."""
    assert read(tmp_path, "{}") == Facts()
    assert read(tmp_path, "client: {qps: null}") == Facts()


def test_evaluation_keys_are_left_aside(tmp_path: Path) -> None:
    """A case with its answers is read as if it had none, whatever they are."""
    answers = "id: c1\ntitle: .nan\nsource: [1]\nstated: {a: .inf}\nexpected: {primary: healthy}\n"
    assert read(tmp_path, answers + "client: {qps: 5}\n") == read(tmp_path, "client: {qps: 5}\n")
    assert "`expected`" in refused(tmp_path, "client: {expected: {}}").message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("clients: {}", "there is no key `clients` - at `$`"),
        ("client: {QPS: 5}", "there is no key `QPS` - at `$.client`"),
        ("controllers: {a: {qps: 5}}", "there is no key `qps` - at `$.controllers.a`"),
        ("client: {qps: fast}", "Expected `float | null`, got `str` - at `$.client.qps`"),
        ("client: {qps: '20'}", "Expected `float | null`, got `str` - at `$.client.qps`"),
        ("client: {qps: true}", "Expected `float | null`, got `bool` - at `$.client.qps`"),
        ("client: {qps: [5]}", "Expected `float | null`, got `array` - at `$.client.qps`"),
        ("client: {qps: 2020-01-01}", "Expected `float | null`, got `date` - at `$.client.qps`"),
        ("client: {qps: -2}", "Expected `float` >= -1.0 - at `$.client.qps`"),
        ("client: [qps]", "Expected `object`, got `array` - at `$.client`"),
        ("client: {limited_share: 1.01}", "Expected `float` <= 1.0 - at `$.client.limited_share`"),
        ("client: {~: 1}", "Expected `str` - at `key` in `$.client`"),
        (
            "controllers: {a: {queue_wait_seconds_mean: -1}}",
            "Expected `float` >= 0.0 - at `$.controllers.a.queue_wait_seconds_mean`",
        ),
        (
            "controllers: {a: {max_concurrent_reconciles: 0}}",
            "Expected `float` >= 1.0 - at `$.controllers.a.max_concurrent_reconciles`",
        ),
        ("controllers: {a: {utilisation: 80}}", "Expected `float` <= 1.0 - at `$.controllers.a.utilisation`"),
        ("controllers: {a: }", "Expected `object`, got `null` - at `$.controllers.a`"),
        ("controllers: {1: {}}", "Expected `str`, got `int` - at `key` in `$.controllers`"),
        (
            "controllers: {a: {scaling: [{workers: 4}]}}",
            "it lacks the required field `items_per_second` - at `$.controllers.a.scaling[0]`",
        ),
        ("process: {restarts: 1.5}", "Expected `int | null`, got `float` - at `$.process.restarts`"),
        ("process: {restarts: -1}", "Expected `int` >= 0 - at `$.process.restarts`"),
        ("process: {leader: 1}", "Expected `bool | null`, got `int` - at `$.process.leader`"),
        ("demand: {resync_seconds: 0}", "Expected `float` > 0.0 - at `$.demand.resync_seconds`"),
        ("operator: {queue: fast}", "Invalid enum value 'fast' - at `$.operator.queue`"),
        ("operator: {version: 1.4}", "Expected `str | null`, got `float` - at `$.operator.version`"),
        ("schema: kuberay-advisor/facts/v2", "Invalid enum value 'kuberay-advisor/facts/v2' - at `$.schema`"),
        ("missing_metrics: [1]", "Expected `str`, got `int` - at `$.missing_metrics[0]`"),
        ("client: {qps: .nan}", "nan is no figure; leave out what is unknown - at `$.client.qps`"),
        ("client: {qps: -.inf}", "-inf is no figure; leave out what is unknown - at `$.client.qps`"),
        ("client: {qps: 1.0e+16}", "1e+16 is no figure; leave out what is unknown - at `$.client.qps`"),
        ("client: {qps: 1.0e-300}", "1e-300 is no figure; leave out what is unknown - at `$.client.qps`"),
        (
            f"process: {{restarts: {10**400}}}",
            "an integer of that size is no figure; leave out what is unknown - at `$.process.restarts`",
        ),
        (
            "controllers: {a: {scaling: [{workers: .inf}]}}",
            "inf is no figure; leave out what is unknown - at `$.controllers.a.scaling[0].workers`",
        ),
        ('operator: {name: "\\ud800"}', "the text '\\ud800' cannot be shown - at `$.operator.name`"),
        ('operator: {name: "a\\e[31m"}', "the text 'a\\x1b[31m' cannot be shown - at `$.operator.name`"),
        ('controllers: {"a\\nb": {}}', "the text 'a\\nb' cannot be shown - at `$.controllers.'a\\nb'`"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_its_place(tmp_path: Path, content: str, message: str) -> None:
    """What is wrong and where in the file, and where the keys are explained."""
    error = refused(tmp_path, content)
    assert error.message == message
    assert error.hint in (HINT, "did you mean client?", f"qps belongs to another place; {HINT}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no mapping"),
        ("# nothing\n", "holds no mapping"),
        ("- a\n- b\n", "holds no mapping"),
        ("just words", "holds no mapping"),
        ("3", "holds no mapping"),
        ("client: {qps: 5", "is not YAML: expected ',' or '}', but got '<stream end>', line 1"),
        ("a: 1\n---\nb: 2\n", "is not YAML: but found another document, line 2"),
        ("client: {qps: 1, burst: 2, qps: 3}", "the key 'qps' stands twice, again in line 1"),
        ("client: {}\nprocess: {}\nclient: {}\n", "the key 'client' stands twice, again in line 3"),
        ("? [a, b]\n: 1\n", "a list, a mapping or a merge stands for a key, in line 1"),
        ("? {a: b}\n: 1\n", "a list, a mapping or a merge stands for a key, in line 1"),
        ("client: {<<: {qps: 1}, qps: 2}", "a list, a mapping or a merge stands for a key, in line 1"),
        ("a: &a {qps: 1}\nclient: *a\n", "refers with *a to another place, in line 2"),
        ("a: &a [*a]", "refers with *a to another place, in line 1"),
        ("client: {qps: !!float abc}", "cannot be read as YAML: could not convert string to float: 'abc'"),
        ("client: {qps: !!int ''}", "cannot be read as YAML: string index out of range"),
        ("client: {qps: !!bool abc}", "cannot be read as YAML: 'abc'"),
        ("client: {qps: !!timestamp abc}", "cannot be read as YAML: 'NoneType' object has no attribute 'groupdict'"),
        ("client: {qps: 2020-99-01}", "cannot be read as YAML: month must be in 1..12"),
        ("[" * 3000, "cannot be read as YAML: maximum recursion depth exceeded"),
    ],
)
def test_what_is_no_facts_file_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    """Other shapes than a mapping, broken YAML, keys twice, aliases, and values that are not what their tag says."""
    assert refused(tmp_path, content).message.startswith(message)


def test_no_code_is_run(tmp_path: Path) -> None:
    """Tags of objects are unknown tags."""
    message = refused(tmp_path, "!!python/object/apply:os.system [ls]").message
    assert message.startswith("is not YAML: could not determine a constructor")


def test_a_few_lines_of_aliases_do_not_fill_the_memory(tmp_path: Path) -> None:
    """A billion laughs are refused at the first alias, unread keys included."""
    lines = ["id: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [
        f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert refused(tmp_path, "\n".join(lines)).message == "refers with *a to another place, in line 2"


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)),
        b"\x00",
        b"\x1f\x8b\x08\x00binary",
        "operator: {name: caf\xe9}".encode("latin-1"),
        b"\xff\xfea\x00b",
    ],
)
def test_bytes_that_are_no_text_are_an_error(tmp_path: Path, content: bytes) -> None:
    """Garbage, a compressed file, another encoding, a text cut in the middle of a character."""
    assert refused(tmp_path, content).message.startswith("is not YAML: unacceptable character")


@pytest.mark.parametrize(
    "content",
    [
        "client: {qps: 5}".encode("utf-16"),
        codecs.BOM_UTF16_BE + "client: {qps: 5}".encode("utf-16-be"),
        codecs.BOM_UTF8 + b"client: {qps: 5}",
        b"client: {qps: 5}\r\n",
    ],
)
def test_encodings_that_say_what_they_are(tmp_path: Path, content: bytes) -> None:
    """UTF-16 and UTF-8 with a byte order mark, and lines as on Windows."""
    assert read(tmp_path, content) == Facts(client=ClientFacts(qps=5.0))


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    """A recording given by mistake is refused by its size."""
    error = refused(tmp_path, b"# " + b"x" * (256 * 1024 - 1))
    assert (error.message, error.hint) == ("is longer than 256 KiB, which no facts file is", "was a recording meant?")
    assert read(tmp_path, b"{} # " + b"x" * (256 * 1024 - 5)) == Facts()


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """A path that is not there, and a folder."""
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputNotFoundError, match=r"cannot be read|is a folder, and no facts file") as caught:
            read_facts(path)
        assert caught.value.where == str(path)


KEYS: Final = (
    st.sampled_from(
        (
            "schema",
            "operator",
            "controllers",
            "client",
            "process",
            "demand",
            "external",
            "missing_metrics",
            "qps",
            "objects",
            "a",
            "scaling",
            "workers",
        )
    )
    | st.text(max_size=4)
    | st.integers()
    | st.booleans()
    | st.none()
)
SCALARS: Final = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.dates() | st.binary(max_size=4)
)
VALUES: Final = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_facts_or_an_input_error(tmp_path: Path, content: bytes) -> None:
    """Nothing else is ever raised."""
    try:
        assert isinstance(read(tmp_path, content), Facts)
    except InputError as error:
        assert error.where  # noqa: PT017 - either outcome is right


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_mapping_is_facts_or_an_input_error(tmp_path: Path, content: dict[object, object]) -> None:
    """Nested values of all kinds that YAML knows."""
    try:
        assert isinstance(read(tmp_path, yaml.safe_dump(content, allow_unicode=True)), Facts)
    except InputError as error:
        assert error.where  # noqa: PT017 - either outcome is right
