"""The line that says what a call is doing: a slow stage by a clock that only the test moves."""

import io
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, small

from cordial_ppl.runtime import progress
from cordial_ppl.runtime.progress import Line, compiling, doing, showing, watching


class Terminal(io.StringIO):
    """What a user sees: a return goes back to the start of a line, and letters are overwritten."""

    def isatty(self):
        return True

    @property
    def screen(self):
        lines, place = [""], 0
        for letter in self.getvalue():
            if letter == "\n":
                lines, place = [*lines, ""], 0
            elif letter == "\r":
                place = 0
            else:
                last = lines[-1]
                lines[-1], place = last[:place] + letter + last[place + 1 :], place + 1
        return [line.rstrip() for line in lines]


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still, and a thread that never draws by itself."""
    monkeypatch.setattr(progress, "PERIOD", 1e6)
    return Clock()


@pytest.fixture
def draw(clock, monkeypatch):
    """A line on a terminal; a call moves the clock and returns what is on the screen."""
    stream = Terminal()
    line = Line(stream, True, clock)
    monkeypatch.setattr(progress, "_line", line)

    def after(seconds):
        clock.now += seconds
        line.tick()
        return stream.screen

    return after


def test_nothing_is_shown_for_two_seconds(draw):
    with doing("fitting", 7, "members"):
        assert draw(1.9) == [""]
        assert draw(0.2) == ["fitting, 0 of 7 members, 2 s"]
    assert draw(1) == [""]


def test_the_time_left_is_that_of_alike_parts_without_compilation(draw):
    with doing("fitting 5 readers", 7, "members") as stage:
        draw(5)
        with compiling(), compiling("compiling"):
            assert draw(30) == ["fitting 5 readers, 0 of 7 members; compiling, 35 s"]
            stage.reach(1)
            assert "left" not in draw(0)[0]
        draw(9)
        stage.reach(2)
        # 14 s of work for two members, so 35 s for five.
        assert draw(0) == ["fitting 5 readers, 2 of 7 members, 44 s, about 35 s left"]
        assert draw(200) == ["fitting 5 readers, 2 of 7 members, 4 min, about 9 min left"]
    with doing("fitting", 7, "members", alike=False) as stage:
        stage.reach(6)
        assert draw(3) == ["fitting, 6 of 7 members, 3 s"]
    with doing("asking", 100, "answers") as stage:
        stage.reach(60, "asking, 10 requests", free=50)
        assert draw(10) == ["asking, 10 requests, 60 of 100 answers, 10 s, about 40 s left"]


def test_of_nested_stages_the_one_whose_end_is_known_or_the_innermost(draw):
    with doing("loading", usual=9, then="working"):
        with doing("loading"):
            assert draw(3) == ["loading, 3 s of about 9 s"]
        with doing("fitting", 4) as outer, doing("fitting", 7, "members", alike=False):
            outer.reach(0.1, "fitting")
            assert draw(3) == ["fitting, 2%, 3 s"]  # Too little to tell.
            outer.reach(1, "fitting wit")
            assert draw(0) == ["fitting wit, 25%, 3 s, about 9 s left"]
        with doing("checking", 3, "steps", alike=False), doing("simulating"):
            assert draw(1) == ["simulating, 1 s"]
        # It goes on from the last stage inside it.
        assert draw(2) == ["working, 2 s"]


def test_stages_of_other_threads_are_not_shown(draw):
    def work():
        with doing("a member"):
            draw(3)
            screens.append(draw(0))

    screens = []
    with doing("fitting"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert screens == [["fitting, 3 s"]] and draw(0) == [""]


def test_an_error_and_other_output_clear_the_line(draw):
    line = progress._line
    assert line is not None
    with pytest.raises(ZeroDivisionError), doing("fitting"):
        draw(3)
        progress.clear()
        line.stream.write("warning: mind this\n")
        assert draw(1) == ["warning: mind this", "fitting, 4 s"]
        progress.clear(for_good=True)
        assert draw(1) == ["warning: mind this", ""]
        raise ZeroDivisionError
    assert draw(1) == ["warning: mind this", ""] and not line.stages


@pytest.fixture
def pipe(clock, monkeypatch):
    """A line that is a pipe's; a call moves the clock by half seconds, returns new lines."""
    stream = io.StringIO()
    line = Line(stream, False, clock, delay=progress.SOON)
    monkeypatch.setattr(progress, "_line", line)

    def after(seconds):
        start = stream.tell()
        for _ in range(round(2 * seconds)):
            clock.now += 0.5
            line.tick()
        return stream.getvalue()[start:].splitlines()

    return after


def test_a_pipe_hears_at_once_then_of_new_stages_and_rarely_of_long_ones(pipe):
    with doing("loading", usual=4):
        assert pipe(0) == [] and pipe(0.5) == ["loading, about 4 s ..."]
        with doing("reading"):
            assert pipe(0.5) == []  # Too short to tell.
        with doing("fitting", 5, "parts") as stage:
            assert pipe(1) == [] and pipe(0.5) == ["fitting, 0 of 5 parts ..."]
            with compiling("compiling"):
                assert pipe(1.5) == ["fitting, 0 of 5 parts; compiling, 3 s ..."]
            stage.reach(1, "fitting it")
            assert pipe(7.5) == []
            assert pipe(1) == ["fitting it, 1 of 5 parts, 11 s, about 38 s left ..."]
            assert pipe(20.5) == [] and len(pipe(1)) == 1
            assert pipe(59) == [] and len(pipe(1)) == 1 and len(pipe(600)) == 10
        for _ in range(5):
            with doing("fitting", 5, "parts"):
                assert pipe(2) == []  # Told before.


class Seen(Terminal):
    """A terminal that tells when it was written to."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def write(self, text):
        self.written.set()
        return super().write(text)


@pytest.fixture
def eager(monkeypatch):
    """Progress as it is, without the wait; nothing is drawn by the test."""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "SOON", 0.0)
    monkeypatch.setattr(progress, "PERIOD", 1e-3)
    monkeypatch.setenv(progress.VARIABLE, "1")
    monkeypatch.setenv("TERM", "xterm")
    stream = Seen()
    # That of the process changes hands between a fixture and its test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    return stream


def drawing():
    return [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_the_thread_draws_and_ends_with_the_call(eager):
    with doing("fitting"):
        assert eager.written.wait(20) and len(drawing()) == 1
    assert not drawing() and eager.screen == [""] and "fitting, 0 s" in eager.getvalue()


@pytest.mark.parametrize("value", ["0", ""])
def test_it_can_be_turned_off(eager, monkeypatch, value):
    monkeypatch.setenv(progress.VARIABLE, value)
    with doing("fitting"), showing(), doing("reading"):
        assert not drawing()
    assert eager.getvalue() == ""


def test_python_writes_nothing_to_a_file_and_the_program_plain_lines(eager, monkeypatch):
    monkeypatch.setattr(Seen, "isatty", lambda self: False)
    with doing("fitting"):
        assert not drawing()
    for silent in ({"quiet": True}, {"plain": False}):
        with showing(**silent), doing("fitting"):
            assert not drawing()
    assert eager.getvalue() == ""
    with showing(), doing("fitting"):
        assert eager.written.wait(20)
    assert eager.getvalue() == "fitting ...\n"


def test_a_notebook_is_redrawn(eager, monkeypatch):
    monkeypatch.setattr(Seen, "isatty", lambda self: False)
    monkeypatch.setattr(Seen, "__module__", "ipykernel.iostream")
    with doing("fitting"):
        assert eager.written.wait(20)
    assert "fitting, 0 s" in eager.getvalue() and eager.screen == [""]


@pytest.mark.parametrize("columns", [20, None])
def test_a_line_is_no_wider_than_the_terminal(draw, monkeypatch, columns):
    def size(_):
        if columns is None:
            raise OSError("no terminal")
        return os.terminal_size((columns, 24))

    line = progress._line
    assert line is not None
    monkeypatch.setattr(line.stream, "fileno", lambda: 2)
    monkeypatch.setattr(progress.os, "get_terminal_size", size)
    with doing("fitting\nsome " + 50 * "many-parts-"):
        (shown,) = draw(3)
        # The last column stays free: in it a terminal would begin the next line.
        assert len(shown) == (columns or progress.COLUMNS) - 1
        assert shown.startswith("fitting some many-p")
    assert draw(1) == [""]


def test_only_the_main_thread_of_the_main_process_draws(eager, monkeypatch):
    def work():
        with doing("fitting"), doing("loading"):
            seen.append((progress._line, drawing()))

    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    monkeypatch.setattr(progress, "parent_process", object)
    for plain in (False, True):
        with showing(plain=plain), doing("fitting"):
            seen.append((None, drawing()))
    assert seen == 3 * [(None, [])] and eager.getvalue() == ""


def test_who_watches_hears_of_the_stages_begun_inside_alone():
    def work():
        with doing("theirs", 2) as stage:
            stage.reach(1)

    heard = []
    with doing("before", 2) as before, watching(lambda *step: heard.append(step)):
        before.reach(1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with doing("ours", 4) as ours, doing("unlike", 2, alike=False) as unlike:
            unlike.reach(1)
            thread = threading.Thread(target=ours.reach, args=(1,))
            thread.start()
            thread.join()
    work()
    assert heard == [(0.25, "ours")]


def test_a_fit_tells_what_it_does_and_prints_nothing(eager, capsys):
    seen = []
    watched = progress.Stage.reach
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            progress.Stage, "reach", lambda own, *given: (seen.append(own), watched(own, *given))
        )
        small().fit(LOGITS, LABELS)
    assert {(stage.what, stage.of) for stage in seen} == {("fitting", "members")}
    assert max(stage.done for stage in seen) == seen[0].total == len(small().members)
    assert eager.screen[-1] == "" and capsys.readouterr().out == "" and not drawing()


def test_a_command_is_quiet_where_it_is_asked_to_be(cordial, eager, monkeypatch):
    shown = []
    find = progress._find_stream
    monkeypatch.setattr(
        progress, "_find_stream", lambda plain: (shown.append(plain), find(plain))[1]
    )
    np.savetxt("r.csv", LOGITS, delimiter=",")
    for options in ([], ["--json"], ["--quiet"]):
        cordial("read", "r.csv", *options, status=2)
    assert shown == [True, False]


class Broken(Terminal):
    """A stderr that is full, was closed, or cannot write a letter."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), ValueError("closed"), UnicodeEncodeError("ascii", "é", 0, 1, "")]
)
def test_a_stderr_that_fails_is_no_reason_to_fail(clock, monkeypatch, error):
    stream = Broken(error)
    for redraw in (True, False):
        line = Line(stream, redraw, clock)
        monkeypatch.setattr(progress, "_line", line)
        with doing("fitting"):
            clock.now += 3
            line.tick()
            progress.clear()


@pytest.mark.parametrize("closed", [True, False])
def test_a_stderr_that_cannot_be_asked_is_no_reason_to_fail(clock, monkeypatch, closed):
    stream = io.StringIO() if closed else SimpleNamespace(write=str, flush=str)
    if closed:
        stream.close()
    monkeypatch.setenv(progress.VARIABLE, "1")
    monkeypatch.setattr("sys.stderr", stream)
    with progress.showing(), progress.doing("fitting"):
        line = progress._line
        assert line is not None and line.stream is stream and not line.redraw
        line.first = 0.0
        line.tick()
    monkeypatch.setattr("sys.stderr", None)
    with progress.showing(), progress.doing("fitting"):
        assert not drawing()
