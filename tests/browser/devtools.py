"""Chromium without a window, driven through the DevTools protocol over a pair of pipes; the standard library only."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT = 180  # seconds for any one answer: a machine that compiles besides may be fifty times slower


def find_chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One tab. What it complains about is collected in `complaints`, what it asks for in `requests`."""

    def __init__(self, chromium):
        self.folder = tempfile.TemporaryDirectory()
        read_end, self.to_browser = os.pipe()
        self.from_browser, write_end = os.pipe()
        # The browser wants its ends as 3 and 4, which must not be each other's source while they are put there.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_end, write_end)]

        def place_ends():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"],
            close_fds=False, preexec_fn=place_ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (read_end, write_end, *high):
            os.close(end)
        self.number, self.received, self.session = 0, b"", None
        self.complaints, self.requests, self.loads = [], [], 0
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        os.close(self.to_browser)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.from_browser)
        shutil.rmtree(self.folder.name, ignore_errors=True)

    def _message(self, deadline):
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.from_browser], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("chromium does not answer")
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                raise EOFError("chromium is gone")
            self.received += data
        text, self.received = self.received.split(b"\0", 1)
        return json.loads(text)

    def _take(self, event):
        method, said = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([argument.get("value") for argument in said["args"]]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"a dialog: {said['message']}")
        elif method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"][:100])

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._message(deadline)
            if answer.get("id") != self.number:
                self._take(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", str(answer)))
        return answer["result"].get("value")

    def wait_for(self, condition):
        deadline = time.monotonic() + TIMEOUT
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never came true: {condition}")
            time.sleep(0.02)

    def open(self, file, fragment=""):
        # What is asked while one document makes room for another may never be answered, so nothing is until the new one has loaded. The
        # query makes it a new one.
        loads, deadline = self.loads, time.monotonic() + TIMEOUT
        self.send("Page.navigate", url=f"file://{os.path.abspath(file)}?{loads}{fragment}")
        while self.loads == loads:
            self._take(self._message(deadline))
        self.wait_for("document.documentElement?.dataset.ready")

    def look(self, scheme="light", width=1280, height=900):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def press(self, key, code=0, text=None):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **({"text": text} if text and kind == "keyDown" else {}))

    def screenshot(self, file, whole=False):
        parameters = {"format": "png"}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            parameters.update(captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(file, "wb") as stream:
            stream.write(base64.b64decode(self.send("Page.captureScreenshot", **parameters)["data"]))
