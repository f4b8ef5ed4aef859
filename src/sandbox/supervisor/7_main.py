# --- PID 1 ----------------------------------------------------------------------------------------


def kill_all():
    """Everything in this container but PID 1."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def task_state(pid):
    """Of a process with one thread: the kernel's flags of it, and how long it has run outside of the
    kernel, in ticks. 0 and 1 where it has more threads or is gone."""
    with contextlib.suppress(OSError):
        if os.listdir("/proc/%d/task" % pid) == [str(pid)]:
            with open("/proc/%d/stat" % pid) as file:
                fields = file.read().rpartition(")")[2].split()
            return int(fields[6]), int(fields[11])
    return 0, 1


def open_child_signal(libc):
    """A descriptor that becomes readable when a child ends, and never interrupts anything."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    mask = (ctypes.c_ulong * 16)()
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    index = signal.SIGCHLD - 1
    mask[index // bits] = 1 << index % bits
    fd = libc.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        fail("signalfd is refused: %s" % os.strerror(ctypes.get_errno()))
    return fd


class Supervisor:
    def __init__(self, libc, child, pipes):
        self.child = child
        self.pipes = pipes
        self.child_signal = open_child_signal(libc)
        self.stdout = Stream(pipes.stdout_r, b"O", b"o")
        self.stderr = Stream(pipes.stderr_r, b"E", b"e")
        self.value = bytearray()
        self.outbox = Outbox(1)
        self.intake = Intake()
        self.resolver = Resolver()
        self.counters = Counters()
        self.facts = hello(libc, self.resolver.works)
        self.ready = False
        self.preload = PreloadWatch(sys.argv[1:], pipes)
        self.started = None
        self.timed_out = False
        self.collection = None
        self.status = None  # the child's wait status
        self.ended = 0
        self.childless = False
        self.finished = False

    def run(self):
        while True:
            self.reap()
            if self.status is not None and self.started is None:
                self.child_failed()
            if self.intake.complete and self.started is None:
                self.start()
            if self.started is not None and not self.finished:
                self.conclude()
            self.outbox.flush()
            self.wait()

    def wait(self):
        poll = select.poll()
        handlers = {}
        for fd, events, handler in self.interests():
            poll.register(fd, events)
            handlers[fd] = handler
        for fd, events in poll.poll(self.patience()):
            handlers[fd](fd, events)

    def patience(self):
        """How long to wait, in milliseconds; None is for ever."""
        if self.finished:
            return None
        if self.started is None:
            return self.preload.patience()
        if self.collection is not None:
            return 100 if self.outbox.full() else 0
        if self.status is None and not self.timed_out:
            return max(0, math.ceil((self.deadline - time.monotonic()) * 1000))
        return 100

    def interests(self):
        yield 0, select.POLLRDHUP | (select.POLLIN if self.hungry() else 0), self.on_stdin
        yield 1, select.POLLOUT if self.outbox.queue else 0, self.on_stdout
        if self.finished:
            return
        yield self.child_signal, select.POLLIN, self.on_child
        for fd in self.resolver.sockets:
            yield fd, select.POLLIN, self.on_query
        if not self.ready:
            yield self.pipes.ready_r, select.POLLIN, self.on_ready
        if self.started is None:
            return
        for stream in (self.stdout, self.stderr):
            if stream.wanted(self.outbox):
                yield stream.fd, select.POLLIN, self.on_output
        if self.pipes.value_r >= 0:
            yield self.pipes.value_r, select.POLLIN, self.on_value
        if self.intake.input:
            yield self.pipes.stdin_w, select.POLLOUT, self.on_input

    def hungry(self):
        return self.ready and len(self.intake.input) < INPUT_MAX

    def on_stdin(self, fd, events):
        if events & ~select.POLLIN:
            os._exit(0)
        try:
            data = os.read(fd, INPUT_SIZE)
        except BlockingIOError:
            return
        if not data:
            os._exit(0)
        if self.finished:
            return
        self.intake.feed(data)
        if self.started is not None:
            self.feed_script()

    def on_stdout(self, fd, events):
        if events & ~select.POLLOUT:
            os._exit(0)

    def on_child(self, fd, events):
        try:
            os.read(fd, 128)
        except BlockingIOError:
            pass

    def on_query(self, fd, events):
        self.resolver.answer(fd)

    def on_ready(self, fd, events):
        if self.preload.read():
            self.outbox.put(b"H", self.facts)
            self.ready = True
        elif self.preload.ended:
            # It failed, and says why on its stderr.
            os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOWAIT)

    def on_output(self, fd, events):
        (self.stdout if fd == self.pipes.stdout_r else self.stderr).read(self.outbox)

    def on_value(self, fd, events):
        """False: there is no more for now."""
        try:
            data = os.read(fd, VALUE_MAX)
        except BlockingIOError:
            return False
        self.value += data
        if not data or len(self.value) > VALUE_MAX:
            os.close(fd)
            self.pipes.value_r = -1
        return self.pipes.value_r >= 0

    def on_input(self, fd, events):
        self.feed_script()

    def feed_script(self):
        """Hands streamed input on; the end of it, too."""
        if self.pipes.stdin_w < 0:
            self.intake.input.clear()
            return
        try:
            if self.intake.input:
                done = os.write(self.pipes.stdin_w, self.intake.input)
                del self.intake.input[:done]
        except BlockingIOError:
            return
        except OSError:  # the script reads no more
            self.intake.input.clear()
            self.close_input()
        if self.intake.input_ended and not self.intake.input:
            self.close_input()

    def close_input(self):
        if self.pipes.stdin_w >= 0:
            os.close(self.pipes.stdin_w)
            self.pipes.stdin_w = -1

    def reap(self):
        """Takes leave of every process that has ended; stops of a traced one are no end."""
        for _ in range(REAP_ROUND):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                return
            if pid == self.child and (os.WIFEXITED(status) or os.WIFSIGNALED(status)):
                self.status = status
                self.ended = time.monotonic()
        os.kill(os.getpid(), signal.SIGCHLD)  # there may be more: come back at once

    def child_failed(self):
        said = take_waiting(self.pipes.stderr_r).decode("utf-8", "replace")
        fail("%s%s%s" % (self.preload.explain_end(self.status), ": " if said else "", said))

    def start(self):
        job = self.intake.job
        for stream in (self.stdout, self.stderr):
            stream.start(job["head"], job["tail"])
        self.oom_kills = self.counters.oom_kills()
        keys = ("name", "argv", "stdin", "input", "refused", "outputs")
        line = json.dumps({key: job[key] for key in keys if key in job}).encode()
        self.preload.take_words()  # of threads that an import has left behind
        self.started = time.monotonic()
        self.deadline = self.started + job["timeout_ms"] / 1000
        with open(self.pipes.job_w, "wb") as file:
            file.write(line)
        self.outbox.put(b"S")
        self.feed_script()

    def conclude(self):
        """Once the script has ended or is out of time: ends everything else, sends what it left
        behind, then X."""
        if self.status is None and time.monotonic() >= self.deadline:
            self.timed_out = True
        if self.status is None and not self.timed_out:
            return
        if self.collection is None:
            kill_all()
            if not self.childless:
                self.reap()
            if not (self.childless or self.only_keeper()) or not self.drained():
                return
            self.outbox.put(b"C")
            self.collection = Collector(self.outbox, self.intake.job["outputs"]).run()
        for _ in self.collection:
            return
        self.finish()

    def only_keeper(self):
        """After kill_all(): it is on its way out, and only its memory is left. Where it is not, or
        not soon, or has done anything, the script has made another process of it."""
        keeper = self.preload.keeper
        if keeper <= 0 or {n for n in os.listdir("/proc") if n.isdecimal()} != {"1", str(keeper)}:
            return False
        for _ in range(KEEPER_LOOKS):
            flags, ticks = task_state(keeper)
            if ticks:
                return False
            if flags & PF_EXITING:
                return True
            time.sleep(KEEPER_LOOK_S)
        return False

    def drained(self):
        """Whether all that the script has printed is here."""
        self.intake.input.clear()
        self.close_input()
        if not (self.stdout.drain(self.outbox) and self.stderr.drain(self.outbox)):
            return False
        while self.pipes.value_r >= 0 and self.on_value(self.pipes.value_r, 0):
            pass
        return True

    def finish(self):
        self.collection = None
        if self.value:
            self.outbox.put(b"V", cut_text(self.value))
        self.stdout.finish(self.outbox)
        self.stderr.finish(self.outbox)
        signaled = os.WIFSIGNALED(self.status)
        number = os.WTERMSIG(self.status) if signaled else 0
        oom_kills = self.counters.oom_kills()
        if oom_kills >= 0:
            oom_kills -= self.oom_kills
        self.outbox.put(
            b"X",
            struct.pack(
                ">11q",
                -1 if signaled else os.WEXITSTATUS(self.status),
                number,
                # It may have ended by itself in the very moment.
                self.timed_out and number == signal.SIGKILL,
                oom_kills,
                max(0, cpu_us(resource.RUSAGE_CHILDREN) - self.preload.idle_cpu_us),
                int((self.ended - self.started) * 1000000),
                self.counters.peak_bytes(),
                self.stdout.bytes,
                self.stdout.chars,
                self.stderr.bytes,
                self.stderr.chars,
            ),
        )
        self.finished = True


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    set_dumpable(libc, 0)
    if os.getpid() != 1:
        fail("this must be the first process of a container")
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
    pipes = Pipes()
    gc.freeze()
    child = os.fork()
    if child == 0:
        end = QuickEnd()
        figures = Figures()
        job = prepare_child(libc, pipes, end)
        run_script(job, pipes.value_w, figures, end)
        # At once: on the interpreter's way to them lies the syntax tree of all this text.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.exit(end.exit_code)
    try:
        pipes.keep_parent_ends()
        for fd in (0, 1, 2):
            os.set_blocking(fd, False)
        Supervisor(libc, child, pipes).run()
    except BaseException:
        fail(traceback.format_exc())


main()
