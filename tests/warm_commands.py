"""``crosspath`` as scripts find it on their PATH, each start forked from the warm server of ``started``.

A process of its own with its own directory, environment, exit code and output, as the installed program; without the ten seconds
of imports.
"""

import itertools
import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from started import Started

_PROGRAM = """\
#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({socket!r})
    asked.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    code, out, error = json.loads(asked.makefile().read())
sys.stdout.write(out)
sys.stderr.write(error)
sys.exit(code)
"""


@contextmanager
def warm_commands(directory: Path) -> Iterator[Path]:
    """A directory for PATH that holds ``crosspath``; ``directory`` keeps what each start said."""
    programs, address, numbers = directory / "bin", directory / "socket", itertools.count()
    programs.mkdir(parents=True)
    (programs / "crosspath").write_text(_PROGRAM.format(python=sys.executable, socket=str(address)))
    (programs / "crosspath").chmod(0o755)

    class Starting(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            arguments, place, environment = json.loads(self.rfile.readline())
            started = Started(arguments, directory / str(next(numbers)), environment, there=Path(place))
            self.wfile.write(json.dumps([started.wait(), started.stdout, started.stderr]).encode())

    with socketserver.ThreadingUnixStreamServer(str(address), Starting) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield programs
        server.shutdown()
        thread.join()
