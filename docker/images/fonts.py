"""Writes matplotlib's list of fonts into MPLCONFIGDIR: those of the image, also under other names.

Scripts name the fonts of the machine that their author knew. The nearest font of the image answers to those
names; else there would be a warning for each, and boxes in the place of Chinese, Japanese and Korean letters.
"""

import dataclasses
import os

from matplotlib import font_manager

CJK = "WenQuanYi Micro Hei"
NAMES = {
    "Liberation Sans": "Arial, Helvetica, Helvetica Neue",
    "Liberation Serif": "Times New Roman, Times",
    "Liberation Mono": "Courier New, Courier",
    CJK: "SimHei, SimSun, Microsoft YaHei, Microsoft JhengHei, PingFang SC, Heiti SC, Heiti TC, STHeiti, "
    "Arial Unicode MS, WenQuanYi Zen Hei, Source Han Sans SC, Noto Sans SC, Noto Sans TC, Noto Sans JP, "
    "Noto Sans KR, Noto Sans CJK SC, Noto Sans CJK TC, Noto Sans CJK JP, Noto Sans CJK KR, IPAGothic, "
    "IPAexGothic, TakaoPGothic, Hiragino Sans, Yu Gothic, Meiryo, MS Gothic, NanumGothic, Malgun Gothic, "
    "AppleGothic",
}


def main():
    manager = font_manager.FontManager()
    there = {entry.name for entry in manager.ttflist}
    for name, others in NAMES.items():
        entries = [entry for entry in manager.ttflist if entry.name == name]
        assert entries, "the image has no font " + name
        for other in set(others.split(", ")) - there:
            manager.ttflist += [dataclasses.replace(entry, name=other) for entry in entries]
    # It has no bold face: the regular one serves, without a warning.
    bold = [dataclasses.replace(e, weight=700) for e in manager.ttflist if e.fname.endswith("microhei.ttc")]
    manager.ttflist += bold
    name = "fontlist-v%s.json" % font_manager.FontManager.__version__
    font_manager.json_dump(manager, os.path.join(os.environ["MPLCONFIGDIR"], name))


main()
