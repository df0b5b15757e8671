"""JSON in lists and lines, archives: what is read, and where it breaks."""

import json
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from logs_of_reviews import read

from cordial_ppl.errors import FileError
from cordial_ppl.formats import inspect_ai
from cordial_ppl.formats.rows import read_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.dictionaries(st.text(), VALUES), min_size=1),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig"]),
)
def test_a_list_is_read_as_python_reads_it(tmp_path, values, indent, ascii_only, encoding):
    path = tmp_path / "log.json"
    path.write_text(f" {json.dumps(values, indent=indent, ensure_ascii=ascii_only)}\n", encoding)
    assert repr([row.value for row in read_rows(path)]) == repr(values)


BROKEN = [
    "[",
    "[{}",
    "[{},",
    '[{"a": 1}, {"b"',
    "[{} {}]",
    "[{}]\n\n x",
    "[\n nul]",
]
BROKEN += ['{}\n{"a": nul}\n{}', '\n{"a":\n 1,}', '{"a": 1}\n{"b": ']


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_json_is_refused_where_it_breaks(tmp_path, text):
    path, line = tmp_path / "log.json", text.rstrip("\n").count("\n") + 1
    path.write_text(text)
    line -= text.endswith("\n{}")
    with pytest.raises(FileError, match=rf"it is not at line {line}, column \d+. It may have been"):
        list(read_rows(path))


@pytest.fixture
def archive(tmp_path):
    def write(**samples):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("header.json", '{"eval": {}}')
            for item, content in samples.items():
                packed.writestr(f"samples/{item}_epoch_1.json", content)
        return path

    return write


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 200_000, "samples/a_epoch_1.json is not JSON, or nested"),
        ("{", "samples/a_epoch_1.json is not JSON"),
        (" " * 200_000, "samples/a_epoch_1.json must unpack to at most 0 MB; it has more"),
    ],
)
def test_members_that_cannot_be_read(monkeypatch, archive, content, message):
    monkeypatch.setattr(inspect_ai, "LARGEST", 200_000 - content.isspace())
    with pytest.raises(FileError, match=message):
        read(archive(a=content))
