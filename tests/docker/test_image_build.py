"""The verb `image build`, and what the images that it makes hold."""

import json
import os

import datascience
import pytest
from sandbox import Server, py

pytestmark = pytest.mark.timeout(1500, func_only=True)

TAG = "python-sandbox-test:built"


@pytest.fixture
def built(engine):
    """A name for an image, which goes after the test."""
    yield TAG
    engine.remove_image(TAG)


@pytest.fixture(scope="module")
def science(engine, datascience_image):
    with Server("--image=" + datascience_image, "--memory=1g", "--warm=1") as server:
        yield server


def config_of(engine, image):
    return engine.json("GET", "/images/%s/json" % image)["Config"]


def test_data_science_image_adds_nothing_that_runs_or_mounts(engine, datascience_image, base_image):
    config, base = config_of(engine, datascience_image), config_of(engine, base_image)
    for key in ("Entrypoint", "Volumes", "ExposedPorts", "Healthcheck", "OnBuild"):
        assert not config.get(key), (key, config[key])
    assert sorted(config["Env"]) == sorted(base["Env"])


def test_data_science_image_has_no_set_user_id_and_leaves_no_build(science):
    script = py(
        """
        import json, os, stat
        bad, closed, left = [], [], []
        for top, folders, names in os.walk('/'):
            folders[:] = [f for f in folders if os.path.join(top, f) not in ('/proc', '/sys', '/dev')]
            for name in names:
                path = os.path.join(top, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISREG(mode) and mode & 0o6000:
                    bad.append(path)
                if '-packages' in top and not os.access(path, os.R_OK):
                    closed.append(path)
        left = [p for p in ('/tmp/fill', '/var/lib/apt/lists/lock', '/root/.cache') if os.path.exists(p)]
        print(json.dumps([bad, closed, left]))
        """
    )
    assert science.facts(script) == [[], [], []]


def test_every_module_is_compiled(science):
    """Else each container would compile it anew."""
    script = py(
        """
        import json, logging, importlib.util, os, pkgutil
        import numpy, openpyxl, pandas, sklearn, seaborn
        missing = []
        for package in (logging, numpy, openpyxl, pandas, sklearn, seaborn):
            for top, _, names in os.walk(package.__path__[0]):
                for name in names:
                    path = os.path.join(top, name)
                    if name.endswith('.py') and not os.path.exists(importlib.util.cache_from_source(path)):
                        missing.append(path)
        print(json.dumps(missing))
        """
    )
    assert science.facts(script) == []


def test_labels_in_any_script_and_fonts_by_any_name(science):
    """A missing letter or font is a warning of matplotlib, in bold ones too."""
    script = py(
        """
        import json, logging, warnings
        warnings.simplefilter('error')
        said = []
        handler = logging.Handler()
        handler.emit = lambda record: said.append(record.getMessage())
        logging.getLogger('matplotlib').addHandler(handler)
        import matplotlib.pyplot as plt
        for number, family in enumerate(
            [None, 'SimHei', 'Noto Sans CJK JP', 'Malgun Gothic', 'Microsoft YaHei']
        ):
            plt.rcdefaults()
            if family:
                plt.rcParams['font.family'] = family
            plt.figure()
            plt.title('\\u4e2d\\u6587 \\u65e5\\u672c\\u8a9e\\u30ab\\u30ca \\ud55c\\uad6d\\uc5b4', weight='bold')
            plt.xlabel('\\u6e29\\u5ea6 caf\\u00e9 \\u2212 \\u20ac')
            plt.savefig('f.png')
        for family in ('Arial', 'Helvetica', 'Times New Roman', 'Courier New'):
            plt.rcParams['font.family'] = family
            plt.figure()
            plt.title('Title')
            plt.savefig('f.png')
        plt.close('all')
        from PIL import ImageFont
        ImageFont.truetype('DejaVuSans.ttf', 12)
        ImageFont.truetype('/usr/share/fonts/truetype/liberation/LiberationSans-Bold.ttf', 12)
        print(json.dumps(said))
        """
    )
    assert science.facts(script, 150, timeout_seconds=120) == []


def test_requirements_of_a_user(engine, base_image, built, tmp_path):
    requirements = tmp_path / "mine.txt"
    requirements.write_text("# what we use\ntabulate==0.9.0\n")
    done = datascience.build(
        "--profile=mine",
        "--requirements=%s" % requirements,
        "--base=" + base_image,
        "--tag=" + built,
        "--network=host",
    )
    assert done.returncode == 0, done.stderr[-1500:]
    assert done.stdout.splitlines()[0] == built
    entry = done.stdout[done.stdout.index('"profiles"') :]
    assert json.loads("{%s}" % entry) == {"profiles": {"mine": {"image": built}}}
    with Server("--image=" + built, "--warm=0") as server:
        found = server.facts("import tabulate, json; print(json.dumps(tabulate.__version__))")
    assert found == "0.9.0"


def test_requirements_on_top_of_the_data_science_image(engine, datascience_image, built, tmp_path):
    """A version that the image has already is replaced, not doubled."""
    requirements = tmp_path / "more.txt"
    requirements.write_text("tabulate==0.9.0\n")
    flags = ["--requirements=%s" % requirements, "--base=" + datascience_image, "--tag=" + built]
    done = datascience.build("--profile=more", "--network=host", *flags)
    assert done.returncode == 0, done.stderr[-1500:]
    script = py(
        """
        import importlib.metadata as m, json, pandas, tabulate
        print(json.dumps([d.version for d in m.distributions() if d.name == 'tabulate']))
        """
    )
    with Server("--image=" + built, "--warm=0") as server:
        assert server.facts(script) == ["0.9.0"]


@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        ("no-such-package-of-anybody==1.0\n", "No matching distribution found for no-such-package"),
        ("tabulate==0.9.0 --hash=sha256:%s\n" % ("0" * 64), "DO NOT MATCH THE HASHES"),
    ],
)
def test_what_pip_says_of_bad_requirements(engine, base_image, tmp_path, requirements, words):
    path = tmp_path / "bad.txt"
    path.write_text(requirements)
    flags = ["--requirements=%s" % path, "--base=" + base_image, "--tag=" + TAG, "--network=host"]
    done = datascience.build("--profile=bad", *flags)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert words in done.stderr, done.stderr[-1500:]
    assert done.stderr.splitlines()[-1].endswith("what docker said last is above")
    assert not engine.has_image(TAG)


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (["--profile=geo"], 2, "name one for geo with --requirements=FILE"),
        (["--profile=../geo"], 2, '--profile must be 1 to 32 of a-z, 0-9, "-" and "_", not "../geo"'),
        (["--profile=a", "--requirements=/nothing/here"], 2, "/nothing/here: No such file"),
        (["--profile=slim", "--base=x:y", "--tag=x:y"], 2, "x:y cannot be built on itself"),
        (["--unknown"], 2, "usage: "),
        (["--base="], 2, "usage: "),
        (["more"], 2, "usage: "),
        (["--docker-host=/nothing/here.sock"], 1, "unix:///nothing/here.sock"),
    ],
)
def test_refusals(flags, status, words):
    done = datascience.build(*flags)
    assert (done.returncode, done.stdout) == (status, ""), done
    assert words in done.stderr, done.stderr


def test_without_a_docker_command():
    done = datascience.build("--base=x:y", env={"PATH": "/nothing"})
    assert done.returncode == 1
    assert "there is no docker command" in done.stderr


def test_the_docker_command_gets_the_certificates(tmp_path):
    stub = tmp_path / "docker"
    stub.write_text('#!/bin/sh\necho "$*" >&2\nexit 1\n')
    stub.chmod(0o755)
    flags = ["--base=x:y", "--docker-host=tcp://engine:2376", "--docker-cert-path=/c"]
    done = datascience.build(*flags, env={"PATH": "%s:%s" % (tmp_path, os.environ["PATH"])})
    assert done.returncode == 1
    words = "--host=tcp://engine:2376 --tlsverify --tlscacert=/c/ca.pem --tlscert=/c/cert.pem --tlskey=/c/key.pem build"
    assert words in done.stderr, done.stderr


def test_certificates_that_are_named_must_be_there():
    done = datascience.build(env={"SSL_CERT_FILE": "/nothing/ca.crt"})
    assert done.returncode == 2
    assert "SSL_CERT_FILE /nothing/ca.crt: No such file" in done.stderr
