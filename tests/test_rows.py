"""JSON in pieces, archives of any size: what is read, and where it breaks."""

import json
import zipfile
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_of_reviews import read

from cordial_ppl.errors import FileError
from cordial_ppl.formats import archives, elements
from cordial_ppl.formats.rows import json_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.fixture(autouse=True, params=[1, 7, 1 << 20])
def chunk(monkeypatch, request):
    monkeypatch.setattr(elements, "CHUNK", request.param)


def parsed(text):
    return list(elements.elements(StringIO(text, newline="")))


@given(st.lists(VALUES), st.sampled_from([None, 1]), st.booleans())
def test_a_list_in_pieces_is_the_list(values, indent, ascii_only):
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    assert parsed(f" {text}\n") == values


BROKEN = [
    "[",
    "[1",
    "[1,",
    "[1,]",
    '[{"a": 1}, {"b"',
    "[1 2]",
    "[1]]",
    "[1]\n\n x",
    "[\n 1,\n nul]",
    '["a',
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_list_is_broken_where_it_is(text):
    with pytest.raises(json.JSONDecodeError) as expected:
        json.loads(text)
    with pytest.raises(elements.Broken) as found:
        parsed(text)
    # Python differs on whether spaces after a comma come before the break.
    assert found.value.line == expected.value.lineno
    assert abs(found.value.column - expected.value.colno) <= 1


def test_an_element_that_never_ends_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(elements, "LONGEST", 1000)
    path = tmp_path / "log.json"
    path.write_text('[{"a": 1}, {"b": "' + "x" * 5000)
    rows = json_rows(path)
    assert next(rows).value == {"a": 1}
    with pytest.raises(FileError, match=r"at line 1, column 18 \(element 1\)"):
        next(rows)


@pytest.fixture
def archive(tmp_path):
    def write(content):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("header.json", '{"eval": {}}')
            packed.writestr("samples/a_epoch_1.json", content)
        return path

    return write


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 200_000, "samples/a_epoch_1.json is nested too deeply"),
        ("{", "samples/a_epoch_1.json is not JSON"),
        (" " * 200_000, "samples/a_epoch_1.json must unpack to at most 0 MB; it has more"),
    ],
)
def test_members_that_cannot_be_read(monkeypatch, archive, content, message):
    monkeypatch.setattr(archives, "LARGEST", 200_000 - content.isspace())
    with pytest.raises(FileError, match=message):
        read(archive(content))


def test_an_archive_is_opened_once(monkeypatch, tmp_path):
    opened = []
    whole = zipfile.ZipFile.__init__
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", '{"eval": {}}')
        for i in range(20):
            sample = {"id": i, "output": {"choices": [{"message": {"content": "4"}}]}}
            packed.writestr(f"samples/{i}_epoch_1.json", json.dumps(sample))
    monkeypatch.setattr(
        zipfile.ZipFile, "__init__", lambda self, *given: (opened.append(1), whole(self, *given))[1]
    )
    assert len(read(path)) == 20 and len(opened) == 1
