"""Enough of the Redis protocol to read a store after a history, without a client library."""
import socket


class Wire:
    def __init__(self, port, seconds=5, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=seconds)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def __call__(self, *words):
        parts = [str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line:
            raise OSError("connection ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ValueError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        size = int(rest)
        if size < 0:
            return None
        if kind == b"$":
            return self.file.read(size + 2)[:-2].decode(errors="replace")
        return [self.reply() for _ in range(size)]

    def hash(self, key):
        flat = self("HGETALL", key)
        return dict(zip(flat[::2], flat[1::2]))
