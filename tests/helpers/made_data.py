"""Small files in upstream formats, made here, and a server on this machine to fetch them from."""

import bz2
import io
import itertools
import struct
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mddf.datasets._io.spec import Archive, File, Har, Part, SvmLight
from mddf.datasets._registry import SPECS


def balance_file():
    """The complete Balance Scale file, which follows a rule."""
    lines = []
    for a, b, c, d in itertools.product(range(1, 6), repeat=4):
        tips = a * b - c * d
        lines.append(f"{'L' if tips > 0 else 'R' if tips < 0 else 'B'},{a},{b},{c},{d}\n")
    return "".join(lines).encode()


def idx_file(values, shape):
    return bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + bytes(values)


ACTIVITIES = "".join(f"{i} {name}\n" for i, name in SPECS["har"].label_names.items())
FEATURES = ("tBodyAcc-mean()-X", "bands()-1,8", "bands()-1,8", "angle(X,gravityMean)")


def har_members():
    """Two windows of each activity for training and one for testing, four features."""
    members = {
        "features.txt": "".join(f"{i} {name}\n" for i, name in enumerate(FEATURES, 1)),
        "activity_labels.txt": ACTIVITIES,
        "README.txt": "made for a test\n",
    }
    for part, repeats in (("train", 2), ("test", 1)):
        y = [label for label in range(1, 7) for _ in range(repeats)]
        members[f"{part}/X_{part}.txt"] = "".join(
            " ".join(f"{(label + i) / 10: .7e}" for i in range(4)).rjust(70) + "\n" for label in y
        )
        members[f"{part}/y_{part}.txt"] = "".join(f"{label}\n" for label in y)
        members[f"{part}/subject_{part}.txt"] = "".join(f"{20 + len(part)}\n" for _ in y)
    return {f"UCI HAR Dataset/{name}": text for name, text in members.items()}


def zip_file(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def small_har(url="http://127.0.0.1:9/"):
    """HAR as specified, except for its size, checksum and address."""
    spec = SPECS["har"]
    archive = Archive("UCI HAR Dataset.zip", f"{url}har.zip")
    return replace(
        spec,
        format=Har(4),
        parts=(Part(dict.fromkeys(range(1, 7), 2)), Part(dict.fromkeys(range(1, 7), 1))),
        files=tuple(replace(file, archive=archive) for file in spec.files),
    )


PROTEIN_TRAIN = b"1  1:0.15 3:0.8\n0  2:0.5\n2  1:1 2:0.25 4:0.125\n1  4:1\n"
PROTEIN_TEST = b"2  3:1\n1  1:0.5\n0  2:0.75\n"


def small_svmlight(name, url="http://127.0.0.1:9/"):
    """PROTEIN or SENSIT as specified, except for size and address."""
    spec = SPECS[name]
    files = tuple(File(file.name, url=f"{url}{file.name}.bz2") for file in spec.files)
    return replace(spec, format=SvmLight(4), parts=(Part(rows=4), Part(rows=3)), files=files)


def protein_pages():
    return {
        "/protein.bz2": bz2.compress(PROTEIN_TRAIN),
        "/protein.t.bz2": bz2.compress(PROTEIN_TEST),
    }


@contextmanager
def serve(pages, cut=()):
    """Serve bytes by path on this machine; paths in `cut` send only the first half."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            body = b"not here" if body is None else body
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path in cut else body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
