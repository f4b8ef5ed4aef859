"""The supervisor's preload in a real container, spoken to without the server (supervisor_driver.py)."""

import json
import time

import pytest
import supervisor_driver as driver
from supervisor_driver import Container


def ready(image, *modules, **options):
    """A container that has said hello."""
    box = Container(image, modules=modules, **options)
    try:
        box.facts = box.hello(80)  # imports take long on a busy machine
    except BaseException:
        box.close()
        raise
    return box


def failure(image, *modules, **options):
    """The line that a preload ends its container with."""
    with pytest.raises(driver.Ended) as ended:
        ready(image, *modules, **options).close()
    line = str(ended.value)
    assert line.startswith("supervisor: ") and line.count("\n") == 1 and len(line) < 1500, line
    return line.removeprefix("supervisor: ").rstrip("\n")


def facts(box, code):
    box.start(code)
    result = box.result()
    assert (result.exit.exit_code, result.stderr) == (0, b""), result
    return json.loads(result.stdout)


def test_modules_are_there_before_the_script(modules_image):
    code = (
        "import json, sys\n"
        "print(json.dumps([n in sys.modules for n in ('quiet_one', 'package_one.part', 'opens_one', 'slow_one')]))"
    )
    with ready(modules_image, "quiet_one", "package_one.part", "opens_one") as box:
        assert facts(box, code) == [True, True, True, False]
    with ready(modules_image) as box:
        assert facts(box, code) == [False] * 4


def test_an_import_sees_the_limits(modules_image):
    """A module takes the number of processors when it is imported."""
    with ready(modules_image, "quiet_one", cpus=1.5) as box:
        assert facts(box, "import quiet_one; print(quiet_one.processors)") in (1, 2)
    with ready(modules_image, "quiet_one", cpus=1.0) as box:
        assert facts(box, "import quiet_one; print(quiet_one.processors)") == 1


def test_descriptors_of_modules_stay_open(modules_image):
    code = "import opens_one, os, json; print(json.dumps(os.read(opens_one.r, 100).decode()))"
    with ready(modules_image, "opens_one") as box:
        assert facts(box, code) == "still open"


def test_no_other_descriptor_is_left(modules_image):
    """As without a preload: the next one that a script opens is 3."""
    code = "import os, json; print(json.dumps(sorted(int(n) for n in os.listdir('/proc/self/fd') if int(n) < 500)))"
    for modules in (), ("quiet_one",):
        with ready(modules_image, *modules) as box:
            assert facts(box, code) == [0, 1, 2, 3]


def test_threads_of_a_preload_are_no_trouble(modules_image):
    code = "import thread_one, os, json\npid = os.fork()\nif not pid: os._exit(7)\n" \
           "print(json.dumps([thread_one.box, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])]))"
    with ready(modules_image, "thread_one") as box:
        assert facts(box, code) == [[1], 7]


def test_cpu_time_counts_from_the_script_on(modules_image):
    with ready(modules_image, "decimal", "asyncio", "xml.dom.minidom") as box:
        box.start("pass")
        assert box.result().exit.cpu_us < 500_000


def test_seeds_are_fresh(modules_image):
    """Two containers of one image, both with random imported long before."""
    found = []
    for _ in range(2):
        with ready(modules_image, "random") as box:
            found.append(facts(box, "import random; print(random.random())"))
    assert found[0] != found[1]


def test_warnings_of_an_import_are_not_the_scripts(modules_image):
    code = "import warnings, logging\nwarnings.warn('of the script')\nlogging.warning('of the script too')\n"
    with ready(modules_image, "warns_one") as box:
        box.start(code)
        result = box.result()
    assert b"UserWarning: of the script" in result.stderr and b"WARNING:root:of the script too" in result.stderr
    assert b"not for the script" not in result.stderr and b"nor this" not in result.stderr


def test_what_an_import_changes_late_or_moves_is_not_the_scripts(modules_image):
    with ready(modules_image, "moves_one", "late_one") as box:
        time.sleep(1)
        box.start("import os; print(os.getcwd())")
        assert box.result().stdout == b"/workspace\n"


def test_a_script_runs_as_without(modules_image):
    """Its arguments, its modules and its tracebacks are its own."""
    code = "import sys, json\nprint(json.dumps([sys.argv, sys.path[0], __name__, sorted(globals())]))"
    seen = []
    for modules in (), ("quiet_one", "json"):
        with ready(modules_image, *modules) as box:
            seen.append(facts(box, code))
    assert seen[0] == seen[1] and seen[0][0] == ["/workspace/script.py"]
    with ready(modules_image, "quiet_one") as box:
        box.start("1/0")
        result = box.result()
    assert result.stderr.startswith(b'Traceback (most recent call last):\n  File "/workspace/script.py", line 1')
    assert result.stderr.count(b"File ") == 1


@pytest.mark.parametrize("module, line", [
    ("not_there", "the preload of not_there failed: ModuleNotFoundError: No module named 'not_there'"),
    ("package_one.other",
     "the preload of package_one.other failed: ModuleNotFoundError: No module named 'package_one.other'"),
    ("exits_one", "the preload of exits_one failed: SystemExit: 3"),
    ("ends_one", "the preload of ends_one ended its process with status 3"),
    ("kills_one", "the preload of kills_one ended its process by signal 11"),
    ("greedy_one", "the preload of greedy_one ended its process by signal 9, as where the profile's memory is too small"),
    ("prints_one", "the preload of quiet_one, prints_one printed 'hello from the import\\n', which every script "
                   "would seem to have printed"),
])
def test_a_preload_that_fails_says_why(modules_image, module, line):
    assert failure(modules_image, "quiet_one", module) == line


def test_a_long_reason_is_cut_and_has_one_line(modules_image):
    line = failure(modules_image, "raises_one")
    assert line.startswith("the preload of raises_one failed: ValueError: two lines, and xxxxxxx")
    assert 900 < len(line) < 1200


def test_a_preload_that_takes_too_long_is_ended(modules_image):
    quick = driver.SUPERVISOR.replace("PRELOAD_S = 60\n", "PRELOAD_S = 2\n")
    assert quick != driver.SUPERVISOR
    began = time.monotonic()
    line = failure(modules_image, "quiet_one", "hangs_one", supervisor=quick)
    assert line == "the preload of hangs_one was not over within 2 s"
    assert time.monotonic() - began > 2
    with ready(modules_image, "slow_one") as box:
        assert facts(box, "print(1)") == 1


def test_hello_comes_after_the_preload_and_names_what_there_is(modules_image):
    began = time.monotonic()
    with ready(modules_image, "slow_one") as box:
        assert time.monotonic() - began > 3
        names = box.facts["modules"].split(" ")
    assert names == sorted(names)
    assert {"quiet_one", "package_one", "Capital9"} <= set(names)
    assert not {"_private", "not-a-name", "some", "pip", "setuptools", "json", "os"} & set(names)


def test_a_stock_image_has_nothing_to_name(base_image):
    with ready(base_image) as box:
        assert box.facts["modules"] == ""


# With data-science packages


def test_numpys_seed_is_fresh(datascience_image):
    """Also that of the generator that all share: it was seeded long before the job."""
    code = "import json, numpy, sys\nprint(json.dumps(['pandas' in sys.modules, numpy.random.random()]))"
    found = []
    for _ in range(2):
        with ready(datascience_image, "numpy.random", "pandas", memory=512 << 20) as box:
            found.append(facts(box, code))
    assert [loaded for loaded, _ in found] == [True, True] and found[0][1] != found[1][1]


def test_pandas_has_been_used(datascience_image):
    """What its first use loads is there, and the script sees nothing of that use."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "import json, pandas as pd\n"
        "text = str(pd.DataFrame({'a': [1, 2, 3.5]}).describe())\n"
        "late = sorted(n for n in set(sys.modules) - before if n.startswith(('pandas', 'numpy', 'pyarrow')))\n"
        "print(json.dumps([late, text.split()[1:5]]))"
    )
    with ready(datascience_image, "pandas", memory=512 << 20) as box:
        assert facts(box, code) == [[], ["count", "3.000000", "mean", "2.166667"]]


def test_fonts_are_looked_up_before_the_call(datascience_image):
    code = (
        "import sys, json, os, time\n"
        "there = 'matplotlib.font_manager' in sys.modules\n"
        "import matplotlib, matplotlib.pyplot as plt, matplotlib.font_manager\n"
        "print(json.dumps([there, matplotlib.get_backend().lower(), plt.get_fignums(),\n"
        "                  os.listdir('/workspace')]))\n"
    )
    with ready(datascience_image, "matplotlib", memory=512 << 20) as box:
        there, backend, figures, files = facts(box, code)
    assert there and backend == "agg" and figures == [] and sorted(files) == ["home", "outputs", "script.py"]
