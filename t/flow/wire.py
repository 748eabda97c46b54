"""A TCP proxy on loopback before a server: passes, swallows replies, or cuts, as the test says. A connection that has
lost a reply says nothing more: TCP loses no bytes from the middle of a stream."""
import contextlib
import socket
import threading

import kit


class Wire:
    def __init__(self, port):
        self.target = port
        self.port = kit.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.lose_replies = False
        self.swallowed = 0
        self.open = set()
        self.listener = None
        self.heal()

    def heal(self):
        """Lets connections through again."""
        self.lose_replies = False
        if self.listener is None:
            self.listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
            threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def cut(self):
        """Ends what is open, and refuses what comes."""
        listener, self.listener = self.listener, None
        if listener:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.open.add(one)
            threading.Thread(target=self.pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, True), daemon=True).start()

    def pump(self, source, target, replies):
        mute = False
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if replies and (mute or self.lose_replies):
                    mute = True
                    self.swallowed += 1
                    continue
                target.sendall(data)
        for one in (source, target):
            self.open.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def end(self):
        self.cut()
