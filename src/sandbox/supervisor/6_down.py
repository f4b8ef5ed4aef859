# --- What comes down ------------------------------------------------------------------------------


def parse_header(line):
    try:
        job = json.loads(bytes(line).decode())
    except (ValueError, RecursionError) as error:
        fail("the header line is not JSON: %s" % error)
    ranges = {
        "timeout_ms": (1, TIMEOUT_MS_MAX),
        "code": (0, CODE_MAX),
        "stdin": (-1, STDIN_MAX),
        "head": (-1, KEEP_MAX),
        "tail": (0, KEEP_MAX),
    }
    check_object("the header line", job, [*ranges, "name", "argv", "files", "outputs"])
    check_numbers("the header line", job, ranges)
    name = job["name"]
    if not is_text(name) or "/" in name or name in ("", ".", "..") or len(name.encode()) > 240:
        fail("name in the header line must be a file name of at most 240 bytes")
    if not isinstance(job["argv"], list) or not all(map(is_text, job["argv"])):
        fail("argv in the header line must be a list of strings without NUL")
    limits = dict.fromkeys(("file", "total", "figures"), ARTIFACT_BYTES_MAX)
    limits["files"] = ARTIFACTS_MAX
    check_object("outputs", job["outputs"], limits)
    check_numbers("outputs", job["outputs"], {key: (0, most) for key, most in limits.items()})
    if not isinstance(job["files"], list) or len(job["files"]) > FILES_MAX:
        fail("files in the header line must be a list of at most %d" % FILES_MAX)
    for file in job["files"]:
        check_object("files", file, ("path", "size"))
        check_numbers("files", file, {"size": (0, FILE_BYTES_MAX)})
        if not is_path(file["path"]):
            fail("a path in files must be relative, without . or .., of at most %d bytes" % PATH_MAX)
    return job


def check_object(where, value, keys):
    if not isinstance(value, dict) or set(value) != set(keys):
        fail("%s must be an object of %s" % (where, ", ".join(keys)))


def check_numbers(where, value, ranges):
    for key, (low, high) in ranges.items():
        if type(value[key]) is not int or not low <= value[key] <= high:
            fail("%s in %s must be a number from %d to %d" % (key, where, low, high))


def is_path(value):
    parts = value.split("/") if is_text(value) else [""]
    return not {"", ".", ".."} & set(parts) and len(value.encode()) <= PATH_MAX


def is_text(value):
    try:
        return isinstance(value, str) and "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


class Intake:
    """Takes what comes down apart as it arrives: header line, script, files, input. All but
    streamed input goes to files at once, so that this process stays small."""

    def __init__(self):
        self.stage = self.header
        self.line = bytearray()
        self.job = None
        self.files = []
        self.name = ""
        self.fd = -1  # of the file with that name; -1 where it cannot be written
        self.left = 0
        self.complete = False  # the script can start
        self.input = bytearray()  # streamed, and not yet taken by the script
        self.input_ended = True

    def feed(self, data):
        view = memoryview(data)
        while view:
            view = self.stage(view)

    def header(self, view):
        data = bytes(view)
        end = data.find(b"\n")
        used = len(data) if end < 0 else end + 1
        if len(self.line) + used > HEADER_MAX:
            fail("the header line is longer than %d bytes" % HEADER_MAX)
        self.line += data[:used]
        if end >= 0:
            self.job = parse_header(self.line)
            self.line.clear()
            self.files.append((self.job["name"], self.job["code"]))
            self.files += ((file["path"], file["size"]) for file in self.job["files"])
            if self.job["stdin"] > 0:
                self.files.append((self.input_name(), self.job["stdin"]))
                self.job["input"] = "%s/%s" % (WORKSPACE, self.input_name())
            self.next_file()
        return view[used:]

    def input_name(self):
        """Of the file that the child opens and unlinks; no other has it."""
        name = ".stdin"
        taken = {file["path"].split("/")[0] for file in self.job["files"]} | {self.job["name"]}
        while name in taken:
            name = "." + name
        return name

    def next_file(self):
        self.stage = self.body
        while self.files:
            self.name, self.left = self.files.pop(0)
            path = "%s/%s" % (WORKSPACE, self.name)
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except OSError as error:
                self.refuse(error)
            if self.left:
                return
            self.close_file()
        self.complete = True
        self.input_ended = self.job["stdin"] >= 0
        self.stage = self.surplus if self.input_ended else self.chunk_size

    def body(self, view):
        done = min(len(view), self.left)
        try:
            if self.fd >= 0:
                done = os.write(self.fd, view[:done])
        except OSError as error:
            self.refuse(error)
        self.left -= done
        if self.left == 0:
            self.close_file()
            self.next_file()
        return view[done:]

    def refuse(self, error):
        """The rest of the job is taken first: a container that ended before would not be heard."""
        what = "%s: cannot write %s: %s" % (PROGRAM, self.name, error.strerror)
        self.job.setdefault("refused", what)
        self.close_file()

    def close_file(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def chunk_size(self, view):
        used = min(len(view), 4 - len(self.line))
        self.line += view[:used]
        if len(self.line) == 4:
            (self.left,) = struct.unpack(">I", self.line)
            self.line.clear()
            self.input_ended = self.left == 0
            self.stage = self.surplus if self.input_ended else self.chunk
        return view[used:]

    def chunk(self, view):
        used = min(len(view), self.left)
        self.input += view[:used]
        self.left -= used
        if self.left == 0:
            self.stage = self.chunk_size
        return view[used:]

    @staticmethod
    def surplus(view):
        fail("%d bytes or more came after the job" % len(view))


