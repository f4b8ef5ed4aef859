import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docker"))

from fixtures import *  # noqa: E402,F401,F403
from places import *  # noqa: E402,F401,F403
