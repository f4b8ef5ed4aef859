"""Figures, images that are shown and values, with the supervisor alone (supervisor_driver.py)."""

import re
import struct

import pytest
import supervisor_driver as driver
from sandbox import py

pytestmark = pytest.mark.timeout(240, func_only=True)

FILE, FIGURE = 1, 2
BOX = {"memory": 1 << 30, "cpus": 2.0}
IMPORTS = """
import io, os, sys
import matplotlib.pyplot as plt
import numpy as np
"""


@pytest.fixture
def run(datascience_image):
    def run_one(code, imports=IMPORTS, **options):
        options = {"timeout": 220, "timeout_ms": 200000, "container": BOX, **options}
        return driver.run(datascience_image, imports + py(code), **options)

    return run_one


def ok(result, stderr=""):
    assert (result.exit.exit_code, result.exit.signal) == (0, 0), result.stderr.decode()
    assert result.stderr.decode() == stderr
    return result


def pixels(artifact):
    assert artifact.data.startswith(b"\x89PNG\r\n\x1a\n"), artifact.name
    return struct.unpack(">II", artifact.data[16:24])


def names(result):
    figures = [a.name for a in result.artifacts if a.kind == FIGURE]
    assert figures == ["figure-%d.png" % n for n in range(1, len(figures) + 1)]
    assert all(max(pixels(a)) <= 1568 for a in result.artifacts if a.kind == FIGURE and not a.reason)
    return [a.name for a in result.artifacts]


def colours(result):
    """Of each figure: the name of the one colour that is in the middle of its picture."""
    return re.findall(r"<(\w+)>", result.stdout.decode())


def test_a_figure_leaves_files_their_names(run):
    code = """
        for number in 1, 3:
            open('outputs/figure-%d.png' % number, 'w').write('of the script')
        for number in range(2):
            plt.figure(); plt.plot([1])
    """
    result = ok(run(code))
    shown = [(a.kind, a.name) for a in result.artifacts]
    assert shown == [(FIGURE, "figure-2.png"), (FIGURE, "figure-4.png"), (FILE, "figure-1.png"), (FILE, "figure-3.png")]


# Each draws one figure that is all of one colour, and the end tells what each picture shows.
PAINT = """
def paint(colour, **options):
    fig, ax = plt.subplots(**options)
    ax.set_facecolor(colour)
    ax.set_xticks([]); ax.set_yticks([])
    return fig

def seen():
    import atexit, glob
    from PIL import Image
    def tell():
        for path in sorted(glob.glob('/workspace/.figures/*.png')):
            image = Image.open(path).convert('RGB')
            found = image.getpixel((image.width // 2, image.height // 2))
            print('<%s>' % {(255, 0, 0): 'red', (0, 0, 255): 'blue', (0, 128, 0): 'green'}[found])
    atexit.register(tell)

seen()
"""


# --- matplotlib -----------------------------------------------------------------------------------

SHOWN = {
    "open at the end": ("paint('red'); paint('blue')", "red blue"),
    "shown, then open": ("paint('red'); plt.show(); paint('blue')", "red blue"),
    "shown twice": ("paint('red'); plt.show(); plt.show()", "red"),
    "two with one show": ("paint('red'); paint('blue'); plt.figure(1); plt.show()", "red blue"),
    "closed": ("paint('red'); plt.close()", ""),
    "blank": ("plt.figure(); paint('red'); plt.figure()", "red"),
    "drawn over after a show": (
        "paint('red'); plt.show(); plt.gca().set_facecolor('blue');"
        " plt.xticks([]); plt.yticks([])",
        "red blue",
    ),
    "not blocking": ("paint('red'); plt.show(block=False); plt.pause(interval=.01); plt.close()", "red"),
    "not blocking and changed": (
        "f = paint('red'); plt.show(block=False); f.axes[0].set_facecolor('blue');"
        " f.canvas.draw()",
        "red blue",
    ),
    "positional": ("paint('red'); plt.show(False); paint('blue')", "red blue"),
    "interactive": ("plt.ion(); paint('red'); plt.show(); paint('blue'); plt.show()", "red blue"),
    "one figure shown": ("f = paint('red'); paint('blue'); f.show(); plt.close(2)", "red"),
    "an animation": (
        "f = paint('red')\nfor c in ['green', 'blue'] * 20:\n    f.axes[0].set_facecolor(c);"
        " plt.pause(.001)",
        "blue",
    ),
    "show replaced": ("plt.show = lambda: None; paint('red'); plt.show(); paint('blue')", "red blue"),
    "from import": ("from pylab import *; paint('red'); show(); paint('blue')", "red blue"),
    "imported anew": (
        "import importlib; importlib.reload(plt); paint('red'); plt.show(); paint('blue')",
        "red blue",
    ),
    "a fork": (
        "paint('red')\nif os.fork() == 0: os._exit(0)\nos.wait(); plt.show(); paint('blue')",
        "red blue",
    ),
    "a fork that goes on": (
        "paint('red')\nif os.fork() == 0: sys.exit()\nos.wait()",
        "red",
    ),
    "saved elsewhere": ("paint('red').savefig('plot.png'); plt.savefig(io.BytesIO())", "red"),
    "saved in outputs": ("paint('red').savefig('outputs/plot.png'); paint('blue')", "blue"),
    "saved through a file": ("with open('outputs/plot.png', 'wb') as f: paint('red').savefig(f)", ""),
    "saved as something else": ("paint('red').savefig('outputs/plot.pdf')", "red"),
    "saved without suffix": ("paint('red').savefig(fname='outputs/plot'); paint('blue')", "blue"),
    "saved, then shown": ("paint('red').savefig('outputs/a.jpg', dpi=50); plt.show()", ""),
    "shown, then saved": ("paint('red'); plt.show(); plt.savefig('outputs/a.png')", ""),
    "shown, then saved by its name": (
        "f = paint('red'); plt.show(); f.savefig('outputs/a.png', dpi=200, transparent=True)",
        "",
    ),
    "saved, then changed": (
        "f = paint('red'); f.savefig('outputs/a.png'); f.axes[0].set_facecolor('blue')",
        "blue",
    ),
    "saved twice under one name": (
        "for c in 'red', 'blue':\n    paint(c).savefig('outputs/a.png', dpi=90); plt.show()",
        "red",
    ),
    "saved and removed": (
        "paint('red').savefig('outputs/a.png'); plt.show(); os.unlink('outputs/a.png')",
        "red",
    ),
    "saved with too many pixels": ("paint('red').savefig('outputs/a.png', dpi=400)", "red"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown_and_open_figures(run, name):
    code, expected = SHOWN[name]
    result = ok(run(PAINT + code))
    assert colours(result) == expected.split()
    assert [a.kind for a in result.artifacts].count(FIGURE) == len(expected.split())
    names(result)


@pytest.mark.parametrize(
    "end, verdict",
    [
        ("1/0", (1, 0)),
        ("sys.exit(3)", (3, 0)),
        ("sys.exit('text')", (1, 0)),
        ("raise KeyboardInterrupt", (-1, 2)),
        ("import atexit; atexit.register(print, 'bye'); 1/0", (1, 0)),
    ],
)
def test_figures_do_not_change_how_a_script_ends(run, end, verdict):
    plain = run(end)
    result = run("plt.plot([1, 2])\n" + end)
    assert result.exit[:2] == plain.exit[:2] == verdict
    assert (result.stdout, result.stderr.replace(b"line 6", b"line 5")) == (plain.stdout, plain.stderr)
    assert names(plain) == [] and names(result) == ["figure-1.png"]


def test_what_was_shown_outlives_a_kill(run):
    code = "plt.plot([1]); plt.show(); plt.plot([2]); os._exit(7)"
    result = run(code)
    assert result.exit.exit_code == 7 and names(result) == ["figure-1.png"]
    code = "plt.plot([1]); plt.show(); plt.plot([2])\nwhile True: pass"
    result = run(code, timeout_ms=15000)
    assert result.exit.timed_out == 1 and names(result) == ["figure-1.png"]


def test_drawing_is_inside_the_deadline(run):
    code = """
        from matplotlib.artist import Artist
        class Endless(Artist):
            def draw(self, renderer):
                while True: pass
        plt.gca().add_artist(Endless())
    """
    result = run(code, timeout_ms=15000)
    assert result.exit.timed_out == 1 and names(result) == []


def test_what_cannot_be_drawn_is_told(run):
    code = r"""
        plt.title(r'$\nonsense$')
        plt.figure(); plt.plot([1, 2])
        print('on')
    """
    result = run(code)
    assert result.exit.exit_code == 0 and names(result) == ["figure-1.png"]
    assert result.stderr.startswith(b"cannot show a figure: ValueError: ")
    assert b"nonsense" in result.stderr and b"Traceback" not in result.stderr


def test_warnings_are_told_once_and_few(run):
    code = """
        rare = ''.join(map(chr, range(0x13000, 0x1300a)))  # no font has them
        plt.title(rare[:2] * 2); plt.xlabel(rare[0])
        plt.show()
        plt.title(rare)
    """
    lines = run(code).stderr.decode().splitlines()
    assert len(lines) == 9 and lines[-2] == "4 more warnings", lines
    assert all(re.match("UserWarning: Glyph .* missing from", l) for l in lines if "more" not in l)
    code = """
        import warnings
        warnings.simplefilter('error')
        plt.title(chr(0x13000))
    """
    assert names(ok(run(code))) == ["figure-1.png"]
    code = """
        plt.rcParams['font.family'] = 'No Such Font'
        for ax in plt.subplots(2, 2)[1].flat: ax.set_title('a', size=ax.get_gridspec().nrows * 5)
    """
    result = run(code)
    assert result.stderr.count(b"findfont") == 1 and names(result) == ["figure-1.png"]


def test_backends_that_agents_ask_for(run):
    """Each in a process of its own: before the import, after it, and in the environment."""
    code = """
        import os
        ways = (
            "import matplotlib; matplotlib.use(%r)\\nimport matplotlib.pyplot as plt",
            "import matplotlib, matplotlib.pyplot as plt; matplotlib.use(%r)",
            "import os; os.environ['MPLBACKEND'] = %r\\nimport matplotlib.pyplot as plt",
        )
        for backend in 'TkAgg', 'Qt5Agg', 'WebAgg', 'macosx':
            for way in ways:
                if os.fork() == 0:
                    exec(way % backend)
                    plt.plot([1]); plt.show()
                    os._exit(0)
                if os.wait()[1]:
                    print(backend, way)
    """
    result = ok(run(code, imports=""))
    assert result.stdout == b"" and len(names(result)) == 12


def test_sizes_are_made_to_fit(run):
    code = """
        plt.plot([1, 2])
        plt.figure(figsize=(200, 150)); plt.plot([1, 2])
        plt.figure(dpi=600); plt.plot([1, 2])
        plt.figure(figsize=(100, .2)); plt.axes().set_axis_off(); plt.plot([1, 2])
        plt.figure(); plt.plot([1]); plt.text(50, 50, 'far away')
        plt.figure(figsize=(3, 2)); plt.plot([1]); plt.legend(['outside'], loc=(1.1, .5))
    """
    result = ok(run(code, container={"memory": 512 << 20, "cpus": 2.0}))
    assert len(names(result)) == 6
    sizes = [pixels(artifact) for artifact in result.artifacts]
    assert all(500 < side < 640 or 380 < side < 480 for side in sizes[0])
    assert all(max(size) >= 1500 for size in sizes[1:4])
    assert sizes[4] == (640, 480) and sizes[5][0] > 320


def test_twenty_large_figures_share_the_room(run):
    code = """
        for n in range(20):
            plt.figure(figsize=(16, 12))
            plt.plot(np.random.default_rng(n).random((100, 4)))
            plt.show()
        plt.plot([1, 2])
    """
    result = ok(run(code, outputs=dict.fromkeys(("file", "total", "figures"), 600 << 10)))
    assert len(names(result)) == 21 and not any(a.reason for a in result.artifacts)
    assert sum(a.size for a in result.artifacts) <= 600 << 10
    assert min(max(pixels(a)) for a in result.artifacts) > 100


def test_more_figures_than_are_kept(run):
    code = """
        for n in range(30):
            plt.plot([n]); plt.show()
        open('outputs/f', 'w').close()
    """
    result = ok(run(code))
    assert names(result) == ["figure-%d.png" % n for n in range(1, 25)] + ["f"]
    assert result.rest == (6, 0)


def test_no_figures_where_none_may_come(run):
    for outputs in ({"files": 0}, {"figures": 0}):
        result = ok(run("plt.plot([1]); plt.show(); plt.plot([2])", outputs=outputs))
        assert names(result) == [] and result.rest == (2, 0)


def test_a_saved_figure_is_counted_once(run):
    code = """
        plt.plot([1]); plt.savefig('outputs/shown.png'); plt.show()
        with open('outputs/open.png', 'wb') as file:
            paint('red').savefig(file)
        paint('blue').savefig('outputs/other.pdf')
    """
    assert ok(run(PAINT + py(code), outputs={"files": 0})).rest == (4, 0)


def test_a_full_workspace(run):
    code = """
        try:
            with open('full', 'wb') as file:
                while True: file.write(bytes(1 << 16))
        except OSError: pass
        plt.plot([1])
    """
    result = run(code)
    assert result.exit.exit_code == 0 and names(result) == []
    assert re.fullmatch(rb"cannot show a figure: OSError: .*No space left on device.*\n", result.stderr)


def test_nothing_is_loaded_that_the_script_does_not_use(run):
    code = "import sys\nprint([m for m in sys.modules if m in ('matplotlib', 'PIL', 'pandas', 'numpy')])"
    assert ok(run(code, imports="")).stdout == b"[]\n"


def test_seed_of_the_font_cache(base_image, tmp_path):
    seed = tmp_path / "seed"
    seed.mkdir()
    (seed / "fontlist-v1.json").write_text("fonts")
    for path in (*tmp_path.parents, tmp_path, seed):
        if path.owner() == seed.owner():
            path.chmod(path.stat().st_mode | 0o055)
    code = "import os\nprint(os.listdir('/tmp/mpl'), open('/tmp/mpl/fontlist-v1.json', 'r+').read())"
    binds = ["%s:/opt/python-sandbox/matplotlib:ro" % seed]
    result = driver.run(base_image, code, container={"binds": binds})
    assert ok(result).stdout == b"['fontlist-v1.json'] fonts\n"


# --- Pillow ---------------------------------------------------------------------------------------


def test_images_that_are_shown(run):
    code = """
        from PIL import Image
        for mode in '1', 'L', 'P', 'LA', 'RGB', 'RGBA', 'CMYK', 'YCbCr', 'I', 'F', 'HSV', 'I;16':
            Image.new(mode, (40, 30)).show(title='x')
        Image.new('RGB', (4000, 10), 'red').show()
        image = Image.effect_noise((1500, 1500), 100)
        Image.merge('RGB', (image, image.rotate(90), image.rotate(180))).show()
    """
    result = ok(run(code, imports="", outputs={"file": 1 << 20}))
    assert len(names(result)) == 14 and not any(a.reason for a in result.artifacts)
    assert [pixels(a) for a in result.artifacts[:12]] == [(40, 30)] * 12
    assert pixels(result.artifacts[12]) == (1568, 4)
    assert result.artifacts[13].size <= 1 << 20


# --- Values ---------------------------------------------------------------------------------------

VALUES = {
    "pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})": (
        "   a  b\n0  1  x\n1  2  y\n\n[2 rows x 2 columns]"
    ),
    "pd.DataFrame({'a': range(1000)})": "[1000 rows x 1 columns]",
    "pd.DataFrame({'a rather long name c%02d' % n: [n] for n in range(20)})": "[1 rows x 20 columns]",
    "pd.DataFrame({'c%02d' % n: [n] for n in range(40)})": "[1 rows x 40 columns]",
    "pd.set_option('display.show_dimensions', False); pd.DataFrame({'a': [1]})": "   a\n0  1",
    "pd.Series([1.5, 2], name='s')": "0    1.5\n1    2.0\nName: s, Length: 2, dtype: float64",
    "np.arange(3)": "array([0, 1, 2])",
    "np.float64(1.5)": "np.float64(1.5)",
}


@pytest.mark.parametrize("code", VALUES)
def test_values(run, code):
    text = ok(run(code, imports="import pandas as pd, numpy as np\n")).value
    expected = VALUES[code]
    assert text == expected or (expected.startswith("[") and text.endswith("\n" + expected))
    assert max(map(len, text.splitlines())) <= 160
    assert "%" not in code or ("c19" in text) == ("..." not in text)


def test_handles_of_figures_are_no_values(run):
    code = """
        import pandas as pd
        (hook,) = [c.cell_contents for c in plt.show.__closure__ if hasattr(c.cell_contents, '__self__')]
        image = plt.imshow([[1, 2]])
        frame = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})
        silent = [
            plt.plot([1, 2], label='x'), plt.title('x'), plt.gcf(), plt.legend(), plt.hist([1, 2, 2]),
            plt.bar([1], [2]), plt.boxplot([1, 2]), plt.colorbar(image), plt.subplots(2, 2),
            plt.contour([[1, 2], [3, 4]]), frame.plot(), frame.hist(), plt.subplot(projection='3d'),
        ]
        print([hook.__self__.shows(one) for one in silent].count(True) == len(silent))
        loop = []
        loop.append(loop)
        told = [loop, {'a': [1, (2,)]}, [], (), np.arange(3), frame, plt.rcParams, plt.cm.viridis, plt]
        print([hook.__self__.shows(one) for one in told].count(False) == len(told))
        plt.close('all')
        print(hook.__self__.shows(silent[0]))
        plt.plot([1, 2])
    """
    result = ok(run(code))
    assert result.stdout == b"True\nTrue\nFalse\n" and result.value is None
    assert names(result) == ["figure-1.png"]


def test_values_beside_figures(run):
    assert ok(run("plt.plot([1])\n{'a': 1}")).value == "{'a': 1}"
    code = "from matplotlib.figure import Figure\nFigure()"
    assert ok(run(code)).value == "<Figure size 640x480 with 0 Axes>"


def test_a_report_comes_before_the_drawing(run):
    """What is slow to draw takes the rest of the time, and not the traceback with it."""
    result = run("""
        import time
        from matplotlib.artist import Artist
        class Slow(Artist):
            def draw(self, renderer):
                print('drawing', file=sys.stderr, flush=True)
                time.sleep(60)
        plt.figure().add_artist(Slow())
        raise ValueError('why it ended')
        """, timeout_ms=40000)
    report = result.stderr.decode()
    assert "ValueError: why it ended" in report and "drawing" in report
    assert report.index("why it ended") < report.index("drawing")
