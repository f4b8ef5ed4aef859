"""The engine's own description of the body of POST /containers/create: the OpenAPI document and the Go types that it
is decoded into, both from the distribution's package of the engine's source."""

import os
import pathlib
import re
import shutil
import tempfile

import debian
import yaml

PACKAGE = "golang-github-docker-docker-dev"
API = "usr/share/gocode/src/github.com/docker/docker/api"
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.S | re.M)
TAG = re.compile(r'`json:"([^",]*)')
SECTIONS = {"top": "Config", "HostConfig": "HostConfig", "NetworkingConfig": "NetworkingConfig"}


def folder(version):
    """The description in the cache folder, fetched where it is missing; version is that of the engine that answers,
    so that another engine's is looked for anew."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", "/root"), ".cache")
    cache = pathlib.Path(home, "python-sandbox")
    kept = cache / ("engine-api-" + re.sub(r"[^\w.+-]", "_", version))
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            found = pathlib.Path(work, "package")
            found.mkdir()
            debian.unpack(debian.Apt(work + "/apt").fetch_alone(PACKAGE), found, "./" + API)
            shutil.move(found / API, kept)
    return kept


def schema_fields(document, schema):
    """The names of a schema's properties, those of the schemas that it is put together from included."""
    while "$ref" in schema:
        schema = document["definitions"][schema["$ref"].rpartition("/")[2]]
    names = set(schema.get("properties", ()))
    for part in schema.get("allOf", ()):
        names |= schema_fields(document, part)
    return names


def of_document(text):
    """Section of the body to the names of its fields."""
    document = yaml.safe_load(text)
    parameters = document["paths"]["/containers/create"]["post"]["parameters"]
    [body] = [parameter["schema"] for parameter in parameters if parameter["in"] == "body"]
    found = {name: schema_fields(document, {"$ref": "#/definitions/" + name}) for name in list(SECTIONS)[1:]}
    return {"top": schema_fields(document, body), **found}


def struct_fields(structs, name):
    """The names of a struct's fields as JSON has them, those of embedded structs included."""
    names = set()
    for line in structs[name].splitlines():
        words = re.sub(r"//.*", "", line).split()
        tag = TAG.search(line)
        if len(words) == 1:
            names |= struct_fields(structs, words[0].lstrip("*").rpartition(".")[2])
        elif tag and tag[1]:
            names |= {tag[1]} - {"-"}
        elif words:
            names |= set(re.match(r"\s*((?:\w+,\s*)*\w+)", line)[1].replace(",", " ").split())
    return names


def of_types(texts):
    """The same from the source."""
    structs = {name: body for text in texts for name, body in STRUCT.findall(text)}
    return {section: struct_fields(structs, name) for section, name in SECTIONS.items()}


def description(version):
    """Section of the body to the names of its fields: all that either source has."""
    api = folder(version)
    document = of_document((api / "swagger.yaml").read_text())
    files = [file for part in ("container", "network") for file in (api / "types" / part).glob("*.go")]
    types = of_types([file.read_text() for file in sorted(files)])
    return {section: document[section] | types[section] for section in SECTIONS}
