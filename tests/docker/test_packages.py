"""Packages and modules that need much of the kernel work inside the walls."""

import pytest
from sandbox import Server, py

pytestmark = pytest.mark.timeout(120, func_only=True)

SETTINGS = ["--memory=1g", "--cpus=2", "--warm=1"]


@pytest.fixture(scope="module")
def science(engine, datascience_image):
    with Server("--image=" + datascience_image, *SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def torch(engine, torch_image):
    with Server("--image=" + torch_image, *SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def anywhere(engine, any_image):
    with Server("--image=" + any_image, *SETTINGS) as server:
        yield server


def prints(server, script, expected):
    result = server.run(py(script), wait=100, timeout_seconds=90)
    assert (result.status, result.stdout) == ("ok", expected), result


PACKAGES = {
    "numpy": (
        """
        import numpy as np
        a = np.random.default_rng(1).standard_normal((300, 300))
        q, r = np.linalg.qr(a)
        print(np.allclose(q @ r, a), np.allclose(np.fft.ifft(np.fft.fft(a[0])), a[0]))
        np.save('a.npy', a)
        print(np.array_equal(np.load('a.npy', mmap_mode='r'), a))
        print(np.memmap('m', dtype='f8', mode='w+', shape=(1000,)).sum())
        """,
        "True True\nTrue\n0.0\n",
    ),
    "scipy": (
        """
        import numpy as np
        from scipy import integrate, linalg, optimize, signal, sparse, stats
        from scipy.sparse.linalg import spsolve
        print(round(optimize.minimize(lambda x: (x[0] - 3) ** 2, [0.0]).x[0], 3))
        print(round(integrate.quad(np.sin, 0, np.pi)[0], 6))
        print(spsolve(sparse.eye(5, format='csc') * 2, np.ones(5)).tolist())
        print(round(linalg.det(np.diag([1.0, 2.0, 3.0])), 6), stats.norm.cdf(0))
        print(len(signal.firwin(11, 0.3)))
        """,
        "3.0\n2.0\n[0.5, 0.5, 0.5, 0.5, 0.5]\n6.0 0.5\n11\n",
    ),
    "pandas": (
        """
        import io
        import pandas as pd
        frame = pd.DataFrame({'k': list('abab'), 'v': [1, 2, 3, 4]})
        frame.to_csv('f.csv', index=False)
        frame.to_parquet('f.parquet')
        print(pd.read_csv('f.csv').groupby('k').v.sum().to_dict())
        print(pd.read_parquet('f.parquet').equals(pd.read_csv('f.csv')))
        index = pd.date_range('2024-03-30', periods=3, freq='D', tz='Europe/Berlin')
        print([t.isoformat() for t in index][-1])
        import sqlite3
        with sqlite3.connect('f.db') as db:
            frame.to_sql('t', db)
            print(pd.read_sql('select sum(v) as s from t', db).s.tolist())
        """,
        "{'a': 4, 'b': 6}\nTrue\n2024-04-01T00:00:00+02:00\n[10]\n",
    ),
    "matplotlib": (
        """
        import os
        import matplotlib
        import matplotlib.pyplot as plt
        print(matplotlib.get_backend().lower())
        plt.plot([1, 2, 3])
        plt.title('caf\\u00e9')
        for name in ('p.png', 'p.svg', 'p.pdf'):
            plt.savefig(name)
            print(os.path.getsize(name) > 1000)
        """,
        "agg\nTrue\nTrue\nTrue\n",
    ),
    "scikit-learn": (
        """
        import warnings
        warnings.simplefilter('error')
        from sklearn.datasets import load_iris
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        x, y = load_iris(return_X_y=True)
        print(RandomForestClassifier(20, random_state=0, n_jobs=2).fit(x, y).score(x, y) > 0.9)
        scores = cross_val_score(LogisticRegression(max_iter=1000), x, y, n_jobs=2)
        print(scores.mean() > 0.9)
        """,
        "True\nTrue\n",
    ),
    "joblib": (
        """
        import warnings
        warnings.simplefilter('error')
        import numpy as np
        from joblib import Parallel, delayed
        big = np.ones(300_000)
        for backend in ('loky', 'threading', 'multiprocessing'):
            print(backend, Parallel(2, backend=backend)(delayed(np.sum)(big * n) for n in range(3)))
        """,
        "loky [np.float64(0.0), np.float64(300000.0), np.float64(600000.0)]\n"
        "threading [np.float64(0.0), np.float64(300000.0), np.float64(600000.0)]\n"
        "multiprocessing [np.float64(0.0), np.float64(300000.0), np.float64(600000.0)]\n",
    ),
    "pyarrow": (
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv, pyarrow.dataset, pyarrow.parquet
        table = pa.table({'n': list(range(100000)), 't': ['x', 'y'] * 50000})
        pa.parquet.write_table(table, 'f.parquet', compression='zstd')
        print(pa.parquet.read_table('f.parquet', memory_map=True).equals(table))
        pa.csv.write_csv(table, 'f.csv')
        print(pc.sum(pa.csv.read_csv('f.csv')['n']).as_py())
        print(pa.dataset.dataset('f.parquet').to_table(filter=pc.field('n') < 3).num_rows)
        with pa.OSFile('f.arrow', 'wb') as f, pa.ipc.new_file(f, table.schema) as writer:
            writer.write_table(table)
        print(pa.ipc.open_file(pa.memory_map('f.arrow')).read_all().num_rows)
        """,
        "True\n4999950000\n3\n100000\n",
    ),
    "threads of the linear algebra": (
        """
        import numpy as np
        from threadpoolctl import threadpool_info, threadpool_limits
        a = np.ones((500, 500))
        with threadpool_limits(2):
            print(float((a @ a)[0, 0]))
        print(all(info['num_threads'] <= 2 for info in threadpool_info()))
        """,
        "500.0\nTrue\n",
    ),
}

TORCH = {
    "tensors": (
        """
        import numpy as np
        import torch
        torch.manual_seed(1)
        a = torch.randn(200, 200, dtype=torch.float64)
        q, r = torch.linalg.qr(a)
        print(torch.allclose(q @ r, a), torch.allclose(torch.fft.ifft(torch.fft.fft(a)).real, a))
        print(torch.nn.functional.conv2d(torch.ones(1, 1, 8, 8), torch.ones(1, 1, 3, 3)).sum().item())
        shared = torch.from_numpy(n := np.arange(6.0).reshape(2, 3))
        shared[0, 0] = 7
        print(n[0, 0], np.array_equal(shared.numpy(), n), torch.cuda.is_available())
        """,
        "True True\n324.0\n7.0 True False\n",
    ),
    "gradients": (
        """
        import torch
        torch.manual_seed(1)
        x = torch.randn(256, 3)
        y = x @ torch.tensor([[1.0], [-2.0], [3.0]]) + 0.5
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(300):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        print(loss.item() < 1e-3, [round(w.item()) for w in model.weight[0]])
        w = torch.tensor(2.0, requires_grad=True)
        (w ** 3).backward()
        print(w.grad.item())
        """,
        "True [1, -2, 3]\n12.0\n",
    ),
    "loader with workers": (
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        if __name__ == '__main__':
            x = torch.arange(64.0).reshape(16, 4)
            for method in ('fork', 'spawn', 'forkserver'):
                loader = DataLoader(TensorDataset(x), 4, num_workers=2, multiprocessing_context=method)
                print(method, sum(batch.sum().item() for batch, in loader))
        """,
        "fork 2016.0\nspawn 2016.0\nforkserver 2016.0\n",
    ),
    "saved and loaded": (
        """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        torch.save(model.state_dict(), 'model.pt')
        same = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        same.load_state_dict(torch.load('model.pt'))
        x = torch.randn(3, 4)
        print(torch.equal(model(x), same(x)))
        torch.jit.script(model).save('script.pt')
        print(torch.equal(torch.jit.load('script.pt')(x), model(x)))
        """,
        "True\nTrue\n",
    ),
    "threads": (
        """
        import threading
        import torch
        torch.set_num_threads(2)
        torch.set_num_interop_threads(2)
        a = torch.ones(500, 500)
        print(torch.get_num_threads(), (a @ a).sum().item())
        sums = []
        def work(n):
            sums.append((torch.full((300, 300), float(n)) @ torch.eye(300)).sum().item())
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(sorted(sums))
        futures = [torch.jit.fork(torch.add, a, n) for n in range(3)]
        print([torch.jit.wait(future)[0, 0].item() for future in futures])
        """,
        "2 125000000.0\n[0.0, 90000.0, 180000.0, 270000.0]\n[1.0, 2.0, 3.0]\n",
    ),
    "processes that share": (
        """
        import torch
        import torch.multiprocessing as mp

        def work(shared, queue):
            shared += 1
            queue.put(shared.sum().item())

        if __name__ == '__main__':
            context = mp.get_context('spawn')
            shared, queue = torch.zeros(1000).share_memory_(), context.Queue()
            child = context.Process(target=work, args=(shared, queue))
            child.start()
            print(queue.get())
            child.join()
            print(shared.sum().item(), child.exitcode)
        """,
        "1000.0\n1000.0 0\n",
    ),
}

MODULES = {
    "multiprocessing": (
        """
        import multiprocessing
        from multiprocessing import shared_memory

        def work(n):
            return n * n

        def fill(name):
            block = shared_memory.SharedMemory(name)
            block.buf[0] = 7
            block.close()

        if __name__ == '__main__':
            for method in ('fork', 'spawn', 'forkserver'):
                context = multiprocessing.get_context(method)
                with context.Pool(2) as pool:
                    print(method, sum(pool.map(work, range(100))))
                block = shared_memory.SharedMemory(create=True, size=4096)
                child = context.Process(target=fill, args=(block.name,))
                child.start()
                child.join()
                print(block.buf[0])
                block.close()
                block.unlink()
            with multiprocessing.Manager() as manager:
                shared = manager.dict(a=1)
                print(dict(shared), multiprocessing.cpu_count())
        """,
        "".join("%s 328350\n7\n" % m for m in ("fork", "spawn", "forkserver")) + "{'a': 1} 2\n",
    ),
    "futures": (
        """
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        if __name__ == '__main__':
            with ThreadPoolExecutor(16) as pool:
                print(sum(pool.map(abs, range(-100, 0))))
            with ProcessPoolExecutor(2) as pool:
                print(sum(pool.map(abs, range(-100, 0))))
        """,
        "5050\n5050\n",
    ),
    "threads": (
        """
        import queue, threading
        q, done = queue.Queue(), threading.Barrier(31)
        local = threading.local()
        def work():
            local.n = threading.get_native_id()
            q.put(local.n)
            done.wait()
        for _ in range(30):
            threading.Thread(target=work).start()
        done.wait()
        print(len({q.get() for _ in range(30)}))
        """,
        "30\n",
    ),
    "subprocess": (
        """
        import subprocess, sys
        print(subprocess.check_output('echo a | tr a b; exit 0', shell=True, text=True), end='')
        out = subprocess.run([sys.executable, '-c', 'import sys; print(sys.stdin.read()[::-1])'],
                             input='abc', capture_output=True, text=True)
        print(out.stdout, end='')
        try:
            subprocess.run(['sleep', '10'], timeout=0.2)
        except subprocess.TimeoutExpired:
            print('timed out')
        import os, pty
        print(os.posix_spawn('/bin/true', ['true'], {}) > 1, pty.spawn(['/bin/true']))
        """,
        "b\ncba\ntimed out\nTrue 0\n",
    ),
    "sqlite3": (
        """
        import sqlite3, threading
        for name in ('db', ':memory:'):
            db = sqlite3.connect(name)
            print(db.execute('pragma journal_mode=wal').fetchone()[0])
            with db:
                db.execute('create table t (n)')
                db.executemany('insert into t values (?)', ((n,) for n in range(10000)))
            print(db.execute('select sum(n) from t').fetchone()[0])
        other = sqlite3.connect('db')
        print(other.execute('select count(*) from t').fetchone()[0])
        """,
        "wal\n49995000\nmemory\n49995000\n10000\n",
    ),
    "asyncio": (
        """
        import asyncio, signal, sys

        async def serve(reader, writer):
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()

        async def ask(*where):
            reader, writer = await (asyncio.open_connection(*where) if len(where) == 2
                                    else asyncio.open_unix_connection(*where))
            writer.write(b'hello\\n')
            answer = await reader.readline()
            writer.close()
            return answer

        async def main():
            tcp = await asyncio.start_server(serve, 'localhost', 8000)
            unix = await asyncio.start_unix_server(serve, '/tmp/s')
            print(await ask('localhost', 8000), await ask('/tmp/s'))
            print(await asyncio.to_thread(sum, range(10)))
            child = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
            print(await child.communicate(b'to the child'))
            print(await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(3))))
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print, 'signal')
            signal.raise_signal(signal.SIGUSR1)
            await asyncio.sleep(0.05)
            tcp.close()
            unix.close()

        asyncio.run(main())
        """,
        "b'HELLO\\n' b'HELLO\\n'\n45\n(b'to the child', None)\n[0, 1, 2]\nsignal\n",
    ),
    "files": (
        """
        import bz2, fcntl, glob, gzip, lzma, mmap, os, shelve, shutil, tarfile, tempfile, zipfile
        for module in (bz2, gzip, lzma):
            with module.open('f', 'wt') as f:
                f.write('packed')
            print(module.open('f', 'rt').read())
        with shelve.open('shelf') as shelf:
            shelf['k'] = [1]
        with zipfile.ZipFile('z.zip', 'w') as z:
            z.write('f')
        shutil.copytree('.', '/tmp/copy', ignore=shutil.ignore_patterns('outputs'))
        shutil.copy2('f', 'g')
        with tarfile.open('t.tar', 'w') as t:
            t.add('f')
        tarfile.open('t.tar').extractall('unpacked')
        with tempfile.NamedTemporaryFile() as f, mmap.mmap(-1, 4096) as m:
            fcntl.flock(f, fcntl.LOCK_EX)
            m[:3] = b'abc'
            f.write(m[:3])
        os.mkfifo('fifo')
        os.symlink('f', 'link')
        os.chmod('f', 0o600)
        print(sorted(glob.glob('*p*')), os.path.exists('/tmp/copy/z.zip'))
        """,
        "packed\npacked\npacked\n['outputs', 'script.py', 'unpacked', 'z.zip'] True\n",
    ),
    "waiting, signals and timers": (
        """
        import os, select, selectors, signal, socket, time
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append('alarm'))
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        signal.pause()
        print(seen)
        a, b = socket.socketpair()
        with selectors.DefaultSelector() as selector:
            selector.register(a, selectors.EVENT_READ)
            b.send(b'x')
            print(type(selector).__name__, len(selector.select(1)))
        print(os.eventfd(1) > 2, select.select([a], [], [], 0)[0] == [a])
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
        fd = os.pidfd_open(pid)
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        print(os.waitid(os.P_PIDFD, fd, os.WEXITED).si_status)
        """,
        "['alarm']\nEpollSelector 1\nTrue True\n9\n",
    ),
    "c": (
        """
        import ctypes, ssl, uuid
        libc = ctypes.CDLL(None)
        array = (ctypes.c_int * 4)(3, 1, 2, 0)
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                                   ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
        libc.qsort(array, 4, 4, compare)
        print(list(array), bool(ssl.create_default_context()), uuid.uuid1().version)
        """,
        "[0, 1, 2, 3] True 1\n",
    ),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_package(science, name):
    prints(science, *PACKAGES[name])


@pytest.mark.parametrize("name", MODULES)
def test_module(anywhere, name):
    prints(anywhere, *MODULES[name])


@pytest.mark.parametrize("name", TORCH)
def test_torch(torch, name):
    prints(torch, *TORCH[name])
