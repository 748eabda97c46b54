"""Requests per second of the http runner with 100 in flight. Floor: a bare curl-multi program on the same server."""
import contextlib
import json
import subprocess

from measure import PROGRAMS, in_turn, program

HEADERS = 13     # as many as a run is told


@contextlib.contextmanager
def server():
    process = subprocess.Popen([str(PROGRAMS / "http_server")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)


def rate(name, url, *more):
    return json.loads(program(name, url, 100, *more))


def run(context):
    seconds = max(context.options.seconds // 2, 1)
    with server() as url:
        bare, dressed, ours = in_turn(context.options.rounds, lambda: rate("floor_http", url, seconds),
                                      lambda: rate("floor_http", url, seconds, HEADERS),
                                      lambda: rate("http_runs", url, seconds))
    for case, floor, goal in (("100 in flight", bare, 0.8), (f"100 in flight, floor with {HEADERS} headers", dressed, None)):
        context.report.row("http", case, "requests", "/s", [r["per_second"] for r in ours],
                           [r["per_second"] for r in floor], ratio_min=goal, cpu_us=[r["cpu_us"] for r in ours],
                           floor_cpu_us=[r["cpu_us"] for r in floor])
