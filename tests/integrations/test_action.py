"""The composite action: cordial's answer as summary, comment and status of a step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = Path(__file__).parents[2] / ".github" / "actions" / "cordial" / "ask.sh"


@pytest.fixture
def step(tmp_path):
    """Run the script as a step does, with a program that prints its arguments and fails as told."""
    program = tmp_path / "bin" / "cordial"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\nexit "$STATUS"\n')
    program.chmod(0o755)
    (tmp_path / "bin" / "python").symlink_to(sys.executable)

    def run(arguments, status=0, **more):
        files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        path = f"{program.parent}:{os.environ['PATH']}"
        inputs = {"ARGUMENTS": arguments, "STATUS": str(status), "PATH": path, "VERSION": ""}
        environment = {**files, **inputs, "RUNNER_TEMP": str(tmp_path), **more}
        ran = subprocess.run(["bash", ASK], env=environment, capture_output=True, text=True)
        (tmp_path / "GITHUB_OUTPUT").touch()
        outputs = (tmp_path / "GITHUB_OUTPUT").read_text().splitlines()
        return ran, dict(line.split("=", 1) for line in outputs)

    return run


def test_the_answer_is_summary_and_status(step, tmp_path):
    for status, opened, expected in (
        (0, "fail", 0),
        (3, "pass", 3),
        (4, "fail", 4),
        (4, "pass", 0),
    ):
        ran, outputs = step('estimate r.csv --require "mean >= 4"', status, OPEN=opened)
        assert ran.returncode == expected, ran.stderr
        assert outputs["status"] == str(status)
        shown = "<estimate><r.csv><--require><mean >= 4><--format><markdown>"
        assert ran.stdout == Path(outputs["summary"]).read_text() == shown
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == 4 * shown


def test_arguments_run_nothing(step, tmp_path):
    ran, _ = step("estimate '$(touch a)' `touch b` ; touch c * $HOME")
    words = ("$(touch a)", "`touch", "b`", ";", "touch", "c", "*", "$HOME")
    assert ran.stdout.startswith("<estimate>" + "".join(f"<{word}>" for word in words))
    assert not {"a", "b", "c"} & {path.name for path in tmp_path.iterdir()}


def test_an_open_quote_is_told_and_nothing_is_asked(step):
    ran, outputs = step('estimate r.csv --require "mean >= 4')
    assert ran.returncode == 2 and not ran.stdout and not outputs
    assert "quote" in ran.stderr and "Traceback" not in ran.stderr
