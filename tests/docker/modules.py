"""A test image whose Python has modules that behave in every way that a preload can meet: the stock image with them
on top."""

import images
import sandbox

TAG = "python-sandbox-test:modules"

MODULES = {
    "quiet_one": "import os, sys\nlimits = {k: os.environ.get(k) for k in os.environ if 'THREADS' in k}\n"
                 "processors = os.cpu_count()\n",
    "warns_one": "import logging, warnings\nwarnings.warn('not for the script')\nlogging.warning('nor this')\n",
    "prints_one": "print('hello', 'from the import')\n",
    "raises_one": "raise ValueError('two\\nlines, and ' + 3000 * 'x')\n",
    "exits_one": "import sys\nsys.exit(3)\n",
    "ends_one": "import os\nos._exit(3)\n",
    "kills_one": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "greedy_one": "held = bytearray(900 << 20)\n",
    "hangs_one": "import time\ntime.sleep(1000)\n",
    "slow_one": "import time\ntime.sleep(3)\n",
    "opens_one": "import os\nr, w = os.pipe()\nos.write(w, b'still open')\n",
    "thread_one": "import threading\nbox = []\nthread = threading.Thread(target=lambda: box.append(1))\n"
                  "thread.start()\nthread.join()\n",
    "moves_one": "import os\nos.chdir('/tmp')\n",
    "late_one": "import threading\nthreading.Timer(0.5, print, ['too late']).start()\n",
    "Capital9": "",
    "_private": "",
}


def ensure(engine, base):
    """The tag of the image, which is made where it is missing or old."""
    key = images.recipe(engine, base, __file__)
    if images.present(engine, TAG, key):
        return TAG
    with sandbox.Server("--image=" + base, "--warm=0") as server:
        where = server.facts("import json, site\nprint(json.dumps(site.getsitepackages()[0]))")

    def fill(folder):
        folder = folder / "modules"
        folder.mkdir()
        for name, text in MODULES.items():
            (folder / (name + ".py")).write_text(text)
        package = folder / "package_one"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "part.py").write_text("value = 5\n")
        (folder / "not-a-name").mkdir()
        (folder / "some.dist-info").mkdir()
        yield folder, where

    return images.ensure(engine, TAG, key, base, fill, ["true"])
