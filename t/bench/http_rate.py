"""Requests per second of the http runner with 100 in flight. Floor: a bare curl-multi program on the same server."""
import contextlib
import json
import subprocess

from measure import PROGRAMS, in_turn, program


@contextlib.contextmanager
def server():
    process = subprocess.Popen([str(PROGRAMS / "http_server")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)


def run(context):
    seconds = max(context.options.seconds // 2, 1)
    with server() as url:
        floor, ours = in_turn(context.options.rounds, lambda: json.loads(program("floor_http", url, 100, seconds)),
                              lambda: json.loads(program("http_runs", url, 100, seconds)))
    context.report.row("http", "100 in flight", "requests", "/s", [r["per_second"] for r in ours],
                       [r["per_second"] for r in floor], ratio_min=0.8, cpu_us=[r["cpu_us"] for r in ours],
                       floor_cpu_us=[r["cpu_us"] for r in floor])
