"""What a script of the data-science profile gives back, and files to give it."""

import base64
import io
import json
import re
import struct
import zipfile
import zlib

from sandbox import py


# What comes back


class Outcome:
    """One result, its image blocks and its embedded files."""

    def __init__(self, message):
        self.result = message["result"]
        self.data = self.result["structuredContent"]
        blocks = self.result["content"]
        self.images = [b for b in blocks if b["type"] == "image"]
        self.resources = [b["resource"] for b in blocks if b["type"] == "resource"]
        self.artifacts = {a["name"]: a for a in self.data.get("artifacts", [])}

    def figures(self):
        return [a for a in self.artifacts.values() if a["kind"] == "figure"]

    def file(self, name):
        """The bytes of a file that came along as a resource."""
        found = [r for r in self.resources if r["uri"].endswith("/" + name)]
        assert len(found) == 1, (name, [r["uri"] for r in self.resources])
        return base64.b64decode(found[0]["blob"]) if "blob" in found[0] else found[0]["text"].encode()

    def image_bytes(self):
        return [base64.b64decode(b["data"]) for b in self.images]

    def __repr__(self):
        return json.dumps(self.data, ensure_ascii=False)[:3000]


def works(server, script, stdout, files=()):
    """Runs a script that must end well, say this and nothing else."""
    arguments = {"files": list(files)} if files else {}
    outcome = Outcome(server.start(py(script), timeout_seconds=200, **arguments).response(270))
    assert outcome.data["status"] == "ok", outcome
    assert outcome.data["stdout"] == py(stdout), outcome
    assert outcome.data["stderr"] == "", outcome
    return outcome


def text_file(path, text):
    return {"path": path, "text": text}


def binary_file(path, data):
    return {"path": path, "base64": base64.b64encode(data).decode()}


# Pictures


def png(width, height, rows):
    """A PNG of 8-bit RGB rows."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def png_size(data):
    """Width and height of a whole PNG: every chunk is there with its right sum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:16]
    at, kinds, pixels = 8, [], b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        body = data[at + 4 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(body)
        kinds.append(body[:4])
        pixels += body[4:] if body[:4] == b"IDAT" else b""
        at += 12 + length
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND"), kinds
    # More than one colour: something was drawn.
    assert len(set(zlib.decompress(pixels))) > 8
    return struct.unpack(">II", data[16:24])


def check_figures(outcome, ratios):
    """As many figures as ratios of width to height, in this order, and no other image."""
    assert [f["mime_type"] for f in outcome.figures()] == ["image/png"] * len(ratios), outcome
    sizes = [png_size(data) for data in outcome.image_bytes()]
    assert len(sizes) == len(ratios), outcome
    for (width, height), ratio in zip(sizes, ratios):
        assert width >= 300 and abs(width / height / ratio - 1) < 0.02, sizes


# Workbooks


def workbook(rows):
    """An .xlsx file of one sheet, as small as programs accept it."""

    def cell(value):
        if isinstance(value, str):
            return '<c t="inlineStr"><is><t>%s</t></is></c>' % value
        return "<c><v>%s</v></c>" % value

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."

    def links(what, target):
        link = '<Relationship Id="rId1" Type="%s/%s" Target="%s"/>' % (relations, what, target)
        return '<Relationships xmlns="%s/relationships">%s</Relationships>' % (package, link)

    sheet = "".join("<row>%s</row>" % "".join(map(cell, row)) for row in rows)
    parts = {
        "[Content_Types].xml": '<Types xmlns="%s/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml" ContentType="%ssheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" ContentType="%sworksheet+xml"/></Types>'
        % (package, kind, kind),
        "_rels/.rels": links("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": links("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": '<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="Costs" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>' % (main, relations),
        "xl/worksheets/sheet1.xml": '<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>'
        % (main, sheet),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def numbers_of(data, sheet):
    """The numbers of a sheet by their cells."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = archive.read("xl/worksheets/sheet%d.xml" % sheet).decode()
    found = re.findall(r'<c r="([A-Z]+\d+)"(?: s="\d+")?(?: t="n")?><v>([^<]+)</v>', text)
    return {cell: float(value) for cell, value in found}
