"""JSON in lists and lines: what is read, and where it breaks."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cordial_ppl.errors import FileError
from cordial_ppl.logs.rows import read_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


# A machine may be slow.
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=20, suppress_health_check=CHECKS)
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


BROKEN = ["[", "[{}", "[{},", '[{"a": 1}, {"b"', "[{} {}]", "[{}]\n\n x", "[\n nul]"]
BROKEN += ['{}\n{"a": nul}\n{}', '\n{"a":\n 1,}', '{"a": 1}\n{"b": ']


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_json_is_refused_where_it_breaks(tmp_path, text):
    path, line = tmp_path / "log.json", text.rstrip("\n").count("\n") + 1
    path.write_text(text)
    line -= text.endswith("\n{}")
    with pytest.raises(FileError, match=rf"it breaks at line {line}, column \d+, where"):
        list(read_rows(path))
