# --- Figures: what the script draws and shows -----------------------------------------------------


class AfterImport:
    """A finder that runs a function on a module once the module has been imported."""

    def __init__(self, hooks):
        self.hooks = hooks
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        hook = self.hooks.get(name)
        if hook is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        loader = getattr(spec, "loader", None)
        if hasattr(loader, "exec_module"):

            def exec_module(module):
                del loader.exec_module
                loader.exec_module(module)
                if module.__name__ == name:
                    with contextlib.suppress(Exception):  # a stranger of the same name
                        hook(module)

            loader.exec_module = exec_module
        return spec


def wrap(owner, name, function):
    """function gets the original, then what the original would get."""
    original = getattr(owner, name)
    if hasattr(original, "of_sandbox"):
        return

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        return function(original, *args, **kwargs)

    wrapper.of_sandbox = True
    setattr(owner, name, wrapper)


def hook_matplotlib(matplotlib):
    """A font that is missing is told once, not for every text; a slow machine not at all."""
    told = {"Matplotlib is building the font cache; this may take a moment."}

    def first(record):
        text = record.getMessage()
        new = text not in told
        if len(told) < 1000:
            told.add(text)
        return new

    logging = sys.modules["logging"]
    logging.getLogger("matplotlib.font_manager").addFilter(first)


class Figures:
    """Puts a PNG into FIGURES for each figure that is shown, and in the end for each that is open.

    A shown figure is closed, as by its reader. What has not changed since it was kept, or since it
    was saved as an image in OUTPUTS, is not kept again. Sizes are made to fit rather than refused."""

    def __init__(self):
        self.pid = 0
        self.most = self.total = 0  # bytes: of one, of all
        self.count = 0
        self.pyplot = None
        self.pausing = 0
        self.last = None  # the one that was current when the last show() closed it
        self.kept = weakref.WeakKeyDictionary()  # figure: the PNG that shows it as it is
        self.saved = weakref.WeakKeyDictionary()  # figure: path and mark of such an image in OUTPUTS
        self.twins = []  # PNG, and path and mark of the same figure in OUTPUTS
        AfterImport(
            {
                "matplotlib.pyplot": self.hook_pyplot,
                "matplotlib": hook_matplotlib,
                "PIL.ImageShow": self.hook_pillow,
            }
        )

    def start(self, limits):
        self.pid = os.getpid()
        self.total = limits["figures"] if limits["files"] else 0  # 0: they are counted only
        self.most = FIGURE_BYTES_MAX
        if self.total:
            self.most = min(limits["file"], self.total, self.most)

    def hook_pyplot(self, pyplot):
        self.pyplot = pyplot
        figure = sys.modules["matplotlib.figure"].Figure
        wrap(pyplot, "show", self.on_show)
        wrap(pyplot, "pause", self.on_pause)
        wrap(pyplot, "savefig", self.on_pyplot_savefig)
        wrap(pyplot, "switch_backend", self.on_switch_backend)
        wrap(sys.modules["matplotlib.backend_bases"].FigureManagerBase, "show", self.on_manager_show)
        wrap(figure, "savefig", self.on_savefig)
        wrap(figure, "draw", self.on_draw)

    def hook_pillow(self, module):
        figures = self

        class Viewer(module.Viewer):
            def show(self, image, **options):
                figures.attempt("the image", figures.keep_image, image)
                return 1

        module.register(Viewer(), 0)

    def managers(self):
        gcf = sys.modules["matplotlib._pylab_helpers"].Gcf
        return sorted(gcf.get_all_fig_managers(), key=lambda manager: manager.num)

    def on_show(self, original, *args, **kwargs):
        if self.pausing:
            return
        managers = self.managers()
        for manager in managers:
            self.keep(manager.canvas.figure)
        block = args[0] if args else kwargs.get("block")
        if managers and (not self.pyplot.isinteractive() if block is None else block):
            self.last = self.pyplot.gcf()
            self.pyplot.close("all")

    def on_manager_show(self, original, manager):
        self.keep(manager.canvas.figure)

    def on_pause(self, original, *args, **kwargs):
        """What an animation draws meanwhile is not shown, but what is there in the end."""
        self.pausing += 1
        try:
            return original(*args, **kwargs)
        finally:
            self.pausing -= 1

    def on_pyplot_savefig(self, original, *args, **kwargs):
        """After show(): the figure that was shown, not a new and empty one."""
        if self.last is not None and not self.pyplot.get_fignums():
            return self.last.savefig(*args, **kwargs)
        return original(*args, **kwargs)

    def on_switch_backend(self, original, *args, **kwargs):
        try:
            return original(*args, **kwargs)
        except (ImportError, RuntimeError):  # one that needs a display, or a server
            return original("agg")

    def on_draw(self, original, figure, *args, **kwargs):
        if figure.stale:
            self.kept.pop(figure, None)
            self.saved.pop(figure, None)
        return original(figure, *args, **kwargs)

    def on_savefig(self, original, figure, *args, **kwargs):
        tables = () if figure.stale else (self.kept, self.saved)
        before = [(table, table.get(figure)) for table in tables]
        result = original(figure, *args, **kwargs)
        # Another resolution or colour, for the file alone, has made the figure stale.
        for table, value in before:
            if value:
                table[figure] = value
                figure.stale = False
        with contextlib.suppress(Exception):
            target = args[0] if args else kwargs["fname"]
            if hasattr(target, "flush"):
                target.flush()
                target = target.name
            path = os.path.abspath(os.fsdecode(target))
            if path.startswith(OUTPUTS + "/"):
                self.note_saved(figure, path if os.path.exists(path) else path + ".png")
        return result

    def note_saved(self, figure, path):
        mark = self.mark(path)
        if mark:
            figure.stale = False
            self.saved[figure] = path, mark
            if figure in self.kept:
                self.twins.append((self.kept[figure], path, mark))

    def mark(self, path):
        """Of an image in OUTPUTS that will come along as an image; None of anything else."""
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if os.path.getsize(path) <= self.most:
                with open(path, "rb") as file:
                    data = file.read()
                image = self.image_module().open(io.BytesIO(data))
                if image.format in SAVED_FORMATS and max(image.size) <= SAVED_SIDE_MAX:
                    return hash(data)
        return None

    @staticmethod
    def image_module():
        return importlib.import_module("PIL.Image")

    def keep(self, figure, ending=False):
        if len(figure.get_children()) > 1:  # else it is blank
            self.attempt("a figure", self.keep_figure, figure, ending)

    @staticmethod
    def attempt(what, function, *args):
        """Tells on stderr what went wrong and what was warned of, each once, and never raises."""
        problem = None
        with warnings.catch_warnings(record=True) as seen:
            try:
                try:
                    function(*args)
                except Warning:  # the script wants errors of them
                    warnings.simplefilter("ignore")
                    function(*args)
            except Exception as error:
                problem = "cannot show %s: %s: %s" % (what, type(error).__name__, error)
        said = ["%s: %s" % (one.category.__name__, one.message) for one in seen]
        said = list(dict.fromkeys(said + ([problem] if problem else [])))
        if len(said) > WARNINGS_MAX:
            said[WARNINGS_MAX - 1 : -1] = ["%d more warnings" % (len(said) - WARNINGS_MAX)]
        with contextlib.suppress(Exception):
            for text in said:
                print(text, file=sys.stderr)

    def keep_figure(self, figure, ending):
        saved = None
        if not figure.stale:
            if figure in self.kept:
                return
            saved = self.saved.get(figure)
            if saved and self.mark(saved[0]) != saved[1]:
                saved = None  # there is something else by now
        if saved and (ending or not self.total):
            return
        if not self.room():
            return
        if saved:
            with open(saved[0], "rb") as file:
                data = file.read()
            if not data.startswith(PNG_START):
                data = self.png(self.image_module().open(io.BytesIO(data)))
        else:
            data = self.draw(figure)
        self.kept[figure] = self.write(data)
        figure.stale = False
        if saved:
            self.twins.append((self.kept[figure],) + saved)

    def keep_image(self, image):
        if self.room():
            if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
                image = image.convert("RGB")
            if max(image.size) > FIGURE_SIDE_MAX:
                image = image.convert("RGBA" if image.mode in ("LA", "P", "RGBA") else "RGB")
                image.thumbnail((FIGURE_SIDE_MAX, FIGURE_SIDE_MAX))
            self.write(self.png(image))

    def room(self):
        """False: there are enough of them, and this one is counted only."""
        if self.total and self.count < FIGURES_MAX:
            return True
        os.makedirs(FIGURES, 0o700, exist_ok=True)
        with open(FIGURES_MORE, "ab") as file:
            file.write(b".")
        return False

    def draw(self, figure):
        """As a notebook shows it: cropped to what there is, and no larger than it is useful."""
        dpi = figure.dpi
        try:
            figure.dpi = min(dpi, (FIGURE_SIDE_MAX - 1) / max(figure.get_size_inches()))
            box = self.box(figure)
            out = io.BytesIO()
            figure.canvas.print_figure(
                out,
                format="png",
                dpi=min(dpi, (FIGURE_SIDE_MAX - 1) / max(box.width, box.height)),
                facecolor=figure.get_facecolor(),
                edgecolor=figure.get_edgecolor(),
                bbox_inches=box,
            )
            return out.getvalue()
        finally:
            figure.dpi = dpi

    @staticmethod
    def box(figure):
        """In inches. Something that lies far outside does not count."""
        whole = figure.bbox_inches
        with contextlib.suppress(AttributeError, TypeError):  # an old matplotlib
            figure.draw_without_rendering()
            tight = figure.get_tightbbox().padded(0.1)
            if 0 < tight.width < 3 * whole.width and 0 < tight.height < 3 * whole.height:
                return tight
        return whole

    @staticmethod
    def png(image):
        out = io.BytesIO()
        image.save(out, "PNG")
        return out.getvalue()

    def write(self, data, path=None):
        """Whole or not at all: the script can be killed at any time."""
        if len(data) > self.most:
            data = self.shrink(data, self.most)
        os.makedirs(FIGURES, 0o700, exist_ok=True)
        if path is None:
            path = "%s/%020d-%d.png" % (FIGURES, time.monotonic_ns(), os.getpid())
            self.count += 1
        with open(path + "~", "wb") as file:
            file.write(data)
        os.rename(path + "~", path)
        return path

    def shrink(self, data, most):
        """With fewer colours, then with fewer pixels."""
        image = self.image_module().open(io.BytesIO(data))
        if image.mode != "RGBA" or image.getchannel("A").getextrema()[0] == 255:
            image = image.convert("RGB")
        scale = 1
        while True:
            size = [max(1, int(side * scale)) for side in image.size]
            small = image if scale == 1 else image.resize(size)
            # 2 is FASTOCTREE; the default one takes seconds where there are many colours.
            data = self.png(small.quantize(256, 2))
            if len(data) <= most or max(size) < 64:
                return data
            scale *= min(0.9, 0.95 * math.sqrt(most / len(data)))

    def is_own_process(self):
        """Processes that the script has forked come to its end as well."""
        return self.pid == os.getpid()

    def finish(self):
        """The script has ended. Only here are figures seen that were never shown."""
        if self.is_own_process():
            if self.pyplot is not None:
                self.attempt("open figures", self.keep_open)
            if self.count:
                self.attempt("all figures", self.fit)

    def keep_open(self):
        for manager in self.managers():
            self.keep(manager.canvas.figure, True)

    def fit(self):
        for png, path, mark in self.twins:
            if self.mark(path) == mark:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(png)
        sizes = {}
        for name in os.listdir(FIGURES):
            if name.endswith(".png"):
                path = "%s/%s" % (FIGURES, name)
                sizes[path] = os.path.getsize(path)
        share = self.share(sorted(sizes.values()), self.total)
        for path, size in sizes.items():
            if size > share:
                with open(path, "rb") as file:
                    data = file.read()
                self.write(self.shrink(data, share), path)

    @staticmethod
    def share(sizes, total):
        """The most bytes that each may have, where small ones leave theirs to large ones."""
        for index, size in enumerate(sizes):
            most = total // (len(sizes) - index)
            if size > most:
                return most
            total -= size
        return math.inf

    def shows(self, value):
        """Whether the value is but a handle of what is seen in a figure."""
        if self.pyplot is None or not (self.count or self.saved or self.pyplot.get_fignums()):
            return False
        return is_handle(value, 3)


def is_handle(value, depth):
    if type(value) is dict:
        value = list(value.values())
    elif type(value).__name__ == "ndarray" and value.dtype == object:
        value = value.ravel().tolist()
    if type(value) in (list, tuple):
        return depth > 0 and any(is_handle(one, depth - 1) for one in value[:100])
    return any(kind.__module__ in HANDLES for kind in type(value).__mro__)


