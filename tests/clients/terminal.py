"""A command on a pseudo-terminal."""

import os
import pty
import select
import tempfile
import time

from testbed import FOREBAY


class Terminal:
    """`forebay WORDS` as a person sees it."""

    def __init__(self, *words):
        self.seen = ""
        pid, self.descriptor = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", XDG_STATE_HOME=tempfile.mkdtemp())
            os.execv(FOREBAY, [FOREBAY, *words])
        self.pid = pid

    def wait_for(self, text, seconds=10):
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise SystemExit(f"FAILED: the terminal does not show {text!r} but {self.seen!r}")
            try:
                self.seen += os.read(self.descriptor, 65536).decode(errors="replace")
            except OSError:  # the command has ended
                raise SystemExit(f"FAILED: the command ended without {text!r}; it showed {self.seen!r}") from None
        self.seen = self.seen[self.seen.index(text) + len(text) :]

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def status(self):
        """The exit status, once the command has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
