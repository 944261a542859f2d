# SPDX-License-Identifier: MIT
"""A headless Chromium driven through a pair of pipes by its own protocol: no other program is needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import time


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self, program, profile):
        self.program, self.profile = program, str(profile)
        self.count, self.text, self.session = 0, b"", None
        self.console, self.requests = [], []

    def __enter__(self):
        to_read, self.out = os.pipe()
        self.inn, to_write = os.pipe()

        def place():  # the browser listens on 3 and speaks on 4
            a, b = os.dup(to_read), os.dup(to_write)
            high = [os.dup2(a, 30), os.dup2(b, 31)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        words = [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
                 f"--user-data-dir={self.profile}", "--window-size=1000,900", "about:blank"]
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        self.process = subprocess.Popen(words, preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=env)
        os.close(to_read)
        os.close(to_write)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.ask("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()

    def message(self, timeout):
        end = time.monotonic() + timeout
        while b"\0" not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.inn], [], [], left)[0]:
                return None
            more = os.read(self.inn, 1 << 20)
            if not more:
                raise RuntimeError("the browser is gone")
            self.text += more
        line, self.text = self.text.split(b"\0", 1)
        return json.loads(line)

    def note(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(what["exceptionDetails"].get("text", "an exception"))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.console.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def ask(self, method, timeout=60, **params):
        self.count += 1
        words = {"id": self.count, "method": method, "params": params}
        if self.session:
            words["sessionId"] = self.session
        os.write(self.out, json.dumps(words).encode() + b"\0")
        while True:
            message = self.message(timeout)
            if message is None:
                raise RuntimeError(f"{method}: no answer in {timeout} s")
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def open(self, path, scheme):
        self.console, self.requests = [], []
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=f"file://{path}")
        for _ in range(200):
            if self.evaluate("document.readyState") == "complete":
                break
            time.sleep(0.05)
        while True:  # what was said meanwhile
            message = self.message(0.2)
            if message is None:
                break
            self.note(message)

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def set_width(self, width):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=39)

    def screenshot(self):
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])
