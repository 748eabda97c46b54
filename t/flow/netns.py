"""Nodes with addresses of their own: network namespaces joined by a bridge, whose own address is where servers and
proxies of the test listen. Root only. Everything is named after this process and goes with it."""
import itertools
import os
import shutil
import subprocess

NETWORK = "198.18"   # set aside for tests of networks
numbers = itertools.count()


def why_not():
    """Why there can be no namespaces here, or \"\"."""
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    if not shutil.which("ip") or not shutil.which("nsenter"):
        return "ip is missing: scripts/needs test"
    name = f"onced{os.getpid()}p"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if done.returncode != 0:
        return f"network namespaces are refused here: {done.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return ""


class Net:
    """`count` namespaces; node i lives in the i-th by `wrap(i)`. Use as a context."""

    def __init__(self, count):
        self.tag = f"on{os.getpid():x}{next(numbers)}"   # names of interfaces have room for 15 bytes
        self.count = count
        # Two runs side by side take different networks; one that is in use is not taken.
        thirds = (n % 256 for n in range(os.getpid(), os.getpid() + 256))
        self.third = next(n for n in thirds if not in_use(f"{NETWORK}.{n}.1"))
        self.host = f"{NETWORK}.{self.third}.1"

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def make(self):
        ip("link", "add", f"{self.tag}b", "type", "bridge")
        ip("address", "add", f"{self.host}/24", "dev", f"{self.tag}b")
        ip("link", "set", f"{self.tag}b", "up")
        for i in range(self.count):
            space, link = self.space(i), self.link(i)
            ip("netns", "add", space)
            ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", link, "master", f"{self.tag}b", "up")
            ip("-n", space, "address", "add", f"{NETWORK}.{self.third}.{i + 10}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")

    def space(self, i):
        return f"{self.tag}n{i}"

    def link(self, i):
        return f"{self.tag}v{i}"

    def wrap(self, i):
        return ("nsenter", f"--net=/run/netns/{self.space(i)}")

    def unplug(self, i):
        """Packets of this node vanish; nobody is told."""
        ip("link", "set", self.link(i), "down")

    def plug(self, i):
        ip("link", "set", self.link(i), "up")

    def end(self):
        # A namespace takes its end of a link, and so the other one, along, but only when nobody lives there any more.
        for i in range(self.count):
            subprocess.run(["ip", "link", "delete", self.link(i)], capture_output=True)
            subprocess.run(["ip", "netns", "delete", self.space(i)], capture_output=True)
        subprocess.run(["ip", "link", "delete", f"{self.tag}b"], capture_output=True)


def in_use(address):
    return f" {address}/" in subprocess.run(["ip", "-o", "address"], capture_output=True, text=True).stdout


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
