"""A TCP proxy of the test's own before a server, one for each node, which fails as it is told:
  delay           seconds that each piece waits before it goes on
  stalled         nothing goes on, nothing ends: a half-open link; what was held goes on afterwards
  lose_replies    requests arrive and run, their answers do not
  refuses         what is open goes on, new connections end at once
  sever(), cut()  end what is open; cut() has nobody listening any more
heal() ends all of it. A connection that has lost a reply says nothing more: TCP loses no bytes from the middle of a
stream."""
import contextlib
import socket
import threading
import time

import kit

PIECE = 65536


class Wire:
    def __init__(self, port, host="127.0.0.1"):
        self.target, self.host = port, host
        self.port = kit.free_port(host)
        self.url = f"redis://{host}:{self.port}/0"
        self.swallowed = self.refused = self.held = 0
        self.passing = threading.Event()
        self.open = set()
        self.listener = None
        self.heal()

    def heal(self):
        """Lets everything through again."""
        self.lose_replies = self.refuses = False
        self.delay = 0
        self.stalled = False
        if self.listener is None:
            self.listener = socket.create_server((self.host, self.port), backlog=64)
            threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    @property
    def stalled(self):
        return not self.passing.is_set()

    @stalled.setter
    def stalled(self, value):
        self.passing.clear() if value else self.passing.set()

    def sever(self):
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self):
        listener, self.listener = self.listener, None
        if listener:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.passing.set()
        self.sever()

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.join(client)

    def join(self, client):
        server = None
        with contextlib.suppress(OSError):
            if not self.refuses:
                server = socket.create_connection((self.host, self.target))
        if server is None:
            self.refused += 1
            client.close()
            return
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(one)
        threading.Thread(target=self.pump, args=(client, server, False), daemon=True).start()
        threading.Thread(target=self.pump, args=(server, client, True), daemon=True).start()

    def pump(self, source, target, replies):
        mute = False
        with contextlib.suppress(OSError):
            while data := source.recv(PIECE):
                if replies and (mute or self.lose_replies):
                    mute = True
                    self.swallowed += 1
                    continue
                if self.delay:
                    time.sleep(self.delay)
                if self.stalled:
                    self.held += 1
                    self.passing.wait()
                target.sendall(data)
        for one in (source, target):
            self.open.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def end(self):
        self.cut()
