"""Reading YAML: values by YAML 1.2, a place for each, clear faults, no input that breaks it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from contextctl.io.profile.yaml_nodes import Place, Scalar, Table, plain
from contextctl.io.profile.yaml_positions import Document, YamlError, read_yaml

# What libyaml 0.2 itself reads otherwise than the suite says: flow mappings with ':' at odd places,
# documents without '---', tags that this reader refuses on purpose, and a few more.
LIBYAML = {
    "2G84-2", "2G84-3", "2XXW", "4MUZ-0", "4MUZ-1", "4MUZ-2", "58MP", "652Z", "6LVF", "7Z25",
    "96NN-0", "96NN-1", "9C9N", "9SA2", "A2M4", "BEC7", "CC74", "DBG4", "DK3J", "FP8R", "J7PZ",
    "K3WX", "L24T-1", "M5C3", "M7A3", "MUS6-0", "MUS6-2", "MUS6-3", "MUS6-4", "NJ66", "QT73",
    "R4YG", "S4JQ", "S98Z", "SM9W-1", "W4TN", "W5VH", "Y79Y-2", "Y79Y-3", "Z67P", "Z9M4",
}  # fmt: skip


def _value(text: str) -> object:
    document = read_yaml(text)
    assert document.faults == ()
    return plain(document.root)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2024-05-01", "2024-05-01"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-7", -7),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("'7'", "7"),
        ('"true"', "true"),
        ("!!str 7", "7"),
        ('!!int "7"', 7),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    assert _value(f"k: {text}") == {"k": value}
    assert type(_value(text)) is type(value)


def test_every_key_and_value_knows_its_place() -> None:
    root = read_yaml("# c\na:\n  - x\n  - {b: ü, c: 2}\n", "p.yaml").root
    assert isinstance(root, Table)
    entry = root.entries["a"]
    assert entry.key_place == Place("p.yaml", 2, 1)
    assert entry.node.place == Place("p.yaml", 3, 3)
    inner = entry.node.items[1]  # type: ignore[union-attr]
    assert isinstance(inner, Table)
    assert inner.entries["c"].key_place == Place("p.yaml", 4, 12)
    assert inner.entries["c"].node == Scalar(2, Place("p.yaml", 4, 15), "2", plain=True)


def test_an_alias_is_the_value_of_its_anchor() -> None:
    assert _value("a: &x [1, 2]\nb: *x\nc: {d: *x}\n") == {
        "a": [1, 2],
        "b": [1, 2],
        "c": {"d": [1, 2]},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "1:8: the alias '*a' refers to the value it stands in"),
        ("a: *b", "1:4: the alias '*b' was not defined before"),
        ("a: b: c", "1:5: mapping values are not allowed in this context"),
    ],
)
def test_what_ends_the_reading_says_where(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=re.escape(message)):
        read_yaml(text)


def test_a_tag_that_could_run_code_is_a_fault() -> None:
    document = read_yaml('a: !!python/object/apply:os.system ["true"]\nb: !!timestamp 2020-01-01\n')
    assert [fault.message for fault in document.faults] == [
        "the tag '!!python/object/apply:os.system' is not supported",
        "the tag '!!timestamp' is not supported",
    ]


def test_a_number_with_thousands_of_digits_is_a_fault_and_stays_text() -> None:
    document = read_yaml("a: " + "9" * 5000)
    assert [fault.message for fault in document.faults] == [
        "the number '99999999999999999999…' is too long"
    ]


@pytest.mark.parametrize("bomb", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 50_000])
def test_bottomless_nesting_ends_with_an_error(bomb: str) -> None:
    with pytest.raises(YamlError):
        read_yaml(bomb)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_are_refused_with_an_error(encoding: str) -> None:
    with pytest.raises(YamlError):
        read_yaml("a: 1\n".encode(encoding))


def _cases(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for path in sorted(folder.glob("*.yaml")):
        entries = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
        case: dict[str, str] = {}
        for index, entry in enumerate(entries):
            case = {**case, **entry}
            yield path.stem + (f"-{index}" if len(entries) > 1 else ""), case


def _unmarked(text: str) -> str:
    """The suite shows spaces, tabs, ends and marks by visible characters."""
    text = re.sub("—*»", "\t", text.replace("␣", " "))
    return text.replace("←", "\r").replace("⇔", "\ufeff").replace("↵", "").replace("∎\n", "")


def _values(text: str) -> list[object]:
    decoder, values, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[end:].strip()
    return values


def _agrees(case: dict[str, str], read: Document | YamlError) -> bool:
    """Whether the reader did with a case of the suite what a profile reader should."""
    if case.get("fail") == "true":
        return isinstance(read, YamlError) or bool(read.faults)
    if "json" not in case:
        return True
    values = _values(case["json"])
    if len(values) > 1:
        return isinstance(read, YamlError) and "second document" in str(read)
    if isinstance(read, YamlError):
        return False
    if read.faults:
        return any("a key must be text" in fault.message for fault in read.faults)
    return plain(read.root) == (values[0] if values else None)


def test_the_yaml_test_suite(shared: Path) -> None:
    folder = shared / "data" / "06_bad_inputs" / "yaml-test-suite_src"
    seen, disagree = 0, set()
    for name, case in _cases(folder):
        seen += 1
        try:
            read: Document | YamlError = read_yaml(_unmarked(case["yaml"]))
        except YamlError as error:
            read = error
        if not _agrees(case, read):
            disagree.add(name)
    assert seen > 200
    assert disagree <= LIBYAML
