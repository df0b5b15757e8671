"""Workers collect the tests of every file, each for itself."""


def test_collecting_compiles_nothing(compiled_by_collection):
    assert not compiled_by_collection
