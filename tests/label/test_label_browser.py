"""The labelling page in a real browser, headless Chromium: `CORDIAL_TEST_NIGHTLY=1`.

Pictures of the pages go to the folder that CORDIAL_TEST_PICTURES names, if it does.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from labelling_pages import OPTIONS, TEXTS, TRUTH, write_judged

from cordial_ppl.data.scale import Scale
from cordial_ppl.tables import read_labels

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine"),
]

LONG = "A sentence that goes on. " * 2000
TABLE = "# Title\n\n**bold**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n\n> quoted"
HOSTILE = (
    "<script>document.title = 'run'; window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    "<svg onload='window.ran = 1'></svg> [x](javascript:window.ran=1) <b id=bold>b</b>"
)
ARABIC = "هذا نص مكتوب من اليمين إلى اليسار، وفيه رقم 42 وكلمة English.\n\n- واحد\n- اثنان"
CHINESE = "这是一段没有空格的中文文本。" * 40
KINDS = {"long": LONG, "table": TABLE, "hostile": HOSTILE, "arabic": ARABIC, "chinese": CHINESE}
WORDS = [list(KINDS.values())[i % len(KINDS)] for i in range(TEXTS)]


class Running:
    """`cordial label` in a process of its own."""

    def __init__(self, folder, *options):
        words = ["label", "judged.csv", "--text", "answer", "--context", "prompt"]
        words += ["--options", "1,2,3,4,5", "-n", "40", *map(str, options)]
        if not (folder / "judged.csv").exists():
            write_judged(folder / "judged.csv", WORDS)
        code = "from cordial_ppl.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=folder, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("open "):
                self.address = line.split()[1]
                break
        else:
            raise AssertionError("the server did not start")

    def end(self, number=signal.SIGINT):
        """Send a signal, and wait for the end; return what is on stderr."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]


@contextmanager
def running(folder, *options):
    server = Running(folder, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGKILL)


class Window:
    """A browser's window with the page."""

    def __init__(self, *, dark=False, phone=False):
        webdriver = pytest.importorskip("selenium.webdriver")
        service = pytest.importorskip("selenium.webdriver.chrome.service")

        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for each in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1280,900"):
            options.add_argument(f"--{each}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = shutil.which("chromedriver")
        self.driver = webdriver.Chrome(options, service.Service(driver) if driver else None)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        if phone:
            size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            touch = {"enabled": True, "maxTouchPoints": 1}
            self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", touch)

    def open(self, server):
        """Open the page, and wait until it shows something."""
        self.driver.get(server.address)
        self.wait(lambda: self.count or self.problem)

    def find(self, name):
        """Find an element by its id."""
        return self.driver.find_element("id", name)

    def wait(self, met, seconds=30):
        """Wait until something is so; the page must not stop answering."""
        end = time.monotonic() + seconds
        while not (result := met()):
            assert time.monotonic() < end, (self.count, self.problem)
            time.sleep(0.02)
        return result

    @property
    def item(self):
        return self.find("name").text

    @property
    def count(self):
        return self.find("count").text

    @property
    def problem(self):
        return self.find("problem").text

    def press(self, keys):
        """Press keys wherever the focus is."""
        webdriver = pytest.importorskip("selenium.webdriver")
        webdriver.ActionChains(self.driver).send_keys(keys).perform()

    def click(self, name):
        self.find(name).click()

    def answer(self, label, by_mouse=False):
        """Give a label, and wait for the next text."""
        item, count = self.item, self.count
        if by_mouse:
            path = f"//*[@id='options']/button[normalize-space(text())='{label}']"
            self.driver.find_element("xpath", path).click()
        else:
            self.press(label)
        self.wait(lambda: self.count != count and (self.item != item or self.problem))
        return item

    def show(self, kind):
        """Leave texts for later until one of a kind is shown."""
        for _ in range(40):
            if WORDS[int(self.item.split()[1])] == KINDS[kind]:
                return
            item = self.item
            self.press("s")
            self.wait(lambda item=item: self.item != item)
        raise AssertionError(f"no text is {kind}")

    def picture(self, name):
        """Keep a picture, if somebody wants to look at it."""
        if folder := os.environ.get("CORDIAL_TEST_PICTURES"):
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    @property
    def complaints(self):
        """What the browser complains of."""
        return [each["message"] for each in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def window():
    pytest.importorskip("selenium")
    window = Window()
    yield window
    window.driver.quit()


def read_file(path):
    table = read_labels(path, Scale.of(OPTIONS, 5))
    return dict(zip(table.item_ids, (OPTIONS[k] for k in table.labels), strict=True))


@pytest.mark.parametrize("by_mouse", [False, True])
def test_forty_texts_are_labelled(tmp_path, window, by_mouse):
    """By keyboard or mouse, with a reload, a note, an undo and a killed server on the way."""
    clicked = {}
    with running(tmp_path, "--require", "mean >= 1.5") as server:
        window.open(server)
        for step in range(20):
            if step == 10:
                window.driver.refresh()
                window.wait(lambda: window.count == "10 of 40")
            clicked[window.answer(TRUTH[window.item], by_mouse)] = TRUTH[window.item] and None
        rows = [json.loads(x) for x in (tmp_path / "labels.jsonl").read_text().splitlines()]
        assert {row["item_id"]: row["label"] for row in rows} == {i: TRUTH[i] for i in clicked}
        item = window.item
        window.find("note").send_keys("a note")
        window.find("note").send_keys("\ue007")  # Enter leaves the note.
        window.answer("1", by_mouse)
        assert '"label_note":"a note"' in (tmp_path / "labels.jsonl").read_text()
        window.click("undo") if by_mouse else window.press("u")
        window.wait(lambda: window.item == item and window.count == "20 of 40")
        assert window.find("note").get_attribute("value") == ""
        server.end(signal.SIGKILL)
        window.press("2")
        window.wait(lambda: "not responding" in window.problem and "not saved" in window.problem)
        assert window.item == item
    with running(tmp_path) as server:
        window.open(server)
        assert window.item == item
        for _ in range(20):
            window.answer(TRUTH[window.item], by_mouse)
        assert "all 40 texts" in window.find("over").text
        assert "40 labels" in server.end()
    labels = read_file(tmp_path / "labels.jsonl")
    assert len(labels) == 40 and labels == {item: TRUTH[item] for item in labels}


def test_two_people_and_two_windows(tmp_path, window):
    """Each has a file; a second window of one person shows what the first one did."""
    with running(tmp_path, "--annotator", "ann", "-o", "ann.jsonl") as ann:
        with running(tmp_path, "--annotator", "bob", "-o", "bob.jsonl") as bob:
            window.open(ann)
            first = window.driver.current_window_handle
            item = window.answer("5")
            window.driver.switch_to.new_window("tab")
            window.open(bob)
            assert window.item == item and "bob" in window.find("who").text
            window.answer("1")
            window.open(ann)
            window.answer("4")
            window.driver.close()
            window.driver.switch_to.window(first)
            # This window has not heard of it: what it says is refused, or the text is renewed.
            window.press("2")
            window.wait(lambda: "already answered" in window.problem or window.count[0] in "23")
    both = [list(read_file(tmp_path / f"{who}.jsonl").items()) for who in ("ann", "bob")]
    assert both[0][0] == (item, "5") and both[1] == [(item, "1")]
    assert both[0][1][1] == "4", "the second window's answer stands"


def test_a_full_disk_is_told(tmp_path, window):
    """A limit on the size of files stands for a full disk: what is shown does not go on."""
    import resource

    with running(tmp_path) as server:
        window.open(server)
        window.answer("3")
        size = (tmp_path / "labels.jsonl").stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 10, size + 10**6))
        item = window.item
        window.press("4")
        window.wait(lambda: "cannot write" in window.problem)
        window.picture("full")
        assert window.item == item and (tmp_path / "labels.jsonl").stat().st_size == size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (10**6, 10**6))
        window.answer("4")
        assert not window.problem
    assert read_file(tmp_path / "labels.jsonl")[item] == "4"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
def test_texts_of_all_kinds_are_shown_and_run_nothing(tmp_path, dark, phone):
    """Nothing of a text runs or leads away, nothing is wider than the page, all can be reached."""
    pytest.importorskip("selenium")
    axe = pytest.importorskip("axe_selenium_python")
    window, name = (
        Window(dark=dark, phone=phone),
        f"{'dark' if dark else 'light'}{'-phone' * phone}",
    )
    try:
        with running(tmp_path, "--within", ".5") as server:
            window.open(server)
            for kind in KINDS:
                window.show(kind)
                text = window.find("text")
                widths = "return [document.documentElement.scrollWidth, innerWidth]"
                wide, inner = window.driver.execute_script(widths)
                assert wide <= inner, kind
                choice = window.find("choice").rect
                top = window.driver.execute_script("return scrollY + innerHeight")
                assert choice["y"] + choice["height"] <= top, "the options are in view"
                window.picture(f"{name}-{kind}")
                if kind == "long":
                    assert len(text.text) > 49_000
                if kind == "hostile":
                    assert HOSTILE.replace("  ", " ") == text.text
                    assert not text.find_elements("css selector", "script, img, svg, a, b")
                if kind == "table":
                    found = text.find_elements("css selector", "h1, strong, table, pre, blockquote")
                    assert len(found) == 5
                    window.click("plain")
                    assert text.text.startswith("# Title") and window.item
                    window.click("plain")
                if kind == "arabic":
                    script = "return getComputedStyle(document.querySelector('#text p')).direction"
                    assert window.driver.execute_script(script) == "rtl"
            assert window.driver.execute_script("return window.ran") is None
            assert "finished" in window.driver.title
            for _ in range(6):
                window.answer("4", by_mouse=True)
            window.wait(lambda: "Mean of all texts" in window.find("figures").text, 90)
            window.click("reveal")
            window.wait(lambda: "Judge" in window.find("judge").text)
            window.driver.execute_script("scrollTo(0, document.body.scrollHeight)")
            window.picture(f"{name}-advice")
            checked = axe.Axe(window.driver)
            checked.inject()
            faults = [each for each in checked.run()["violations"]]
            assert not faults, json.dumps(faults, indent=1)[:3000]
            assert not window.complaints
    finally:
        window.driver.quit()


def test_the_keyboard_alone_reaches_everything(tmp_path, window):
    with running(tmp_path) as server:
        window.open(server)
        reached, script = (
            [],
            "return document.activeElement.id || document.activeElement.textContent",
        )
        for _ in range(30):
            window.press("\ue004")
            reached.append(window.driver.execute_script(script))
        wanted = {"keys", "plain", "note", "skip", "unratable", *OPTIONS}
        assert wanted <= {re.sub(r"\s.*", "", each, flags=re.S) for each in reached}
        window.press("\ue00c")  # Escape leaves the note, if the focus is there.
        window.press("n")
        assert window.driver.execute_script(script) == "note"
        window.press("12")  # In a note these are letters.
        window.press("\ue00c")
        assert window.count == "0 of 40"
        window.click("keys")
        window.press("1")
        time.sleep(0.5)
        assert window.count == "0 of 40", "shortcuts can be switched off"
        window.click("keys")
        window.answer("1")
        assert '"label_note":"12"' in (tmp_path / "labels.jsonl").read_text()
        window.press("x")
        window.wait(lambda: window.count == "2 of 40")
        window.press("uu")
        window.wait(lambda: window.count in ("0 of 40", "1 of 40"))
        window.press("r")
