#!/usr/bin/python3
"""Lives one seed of a group and judges it: `group_seed.py --seed N --build DIR --folder DIR [--seconds S] [--net]
[--show]`. Exit 0 when every promise was kept, 1 with what was broken in FOLDER/found.txt."""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent


def scopes(kit):
    """Those that this build can run."""
    found = []
    for scope in ("auto", "all", "main"):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(json.dumps({"redis": {"url": "redis://127.0.0.1:1/0", "app": "t"}, "tasks": [
                {"name": "t", "every": "1s", "timeout": "1s", "scope": scope, "noop": {}}]}))
            f.flush()
            if subprocess.run([kit.ONCED, "check", f.name], capture_output=True).returncode == 0:
                found.append(scope)
    return found


def lived(plan, folder, build, net):
    import group_check
    import group_rig
    r = group_rig.Rig(plan, folder, build, net)
    case = None
    try:
        r.live()
        case = group_check.Case(r)
        proof = case.prove()
        (folder / "proof.json").write_text(proof.raw)
        found = r.wrong + list(group_check.judge(case, proof))
    except Exception as e:   # whatever it is, it belongs to this seed
        import traceback
        found = r.wrong + [f"harness: {e.__class__.__name__}: {e}"]
        (folder / "traceback.txt").write_text(traceback.format_exc())
    finally:
        (folder / "story.txt").write_text("\n".join(r.story) + "\n")
        r.end()
    return case, found


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--build", required=True)
    p.add_argument("--folder", required=True)
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--net", action="store_true", help="in network namespaces; root only")
    p.add_argument("--show", action="store_true", help="only print what the seed means")
    a = p.parse_args()
    os.environ["ONCED_BUILD"] = a.build
    sys.path[:0] = [str(here), str(here.parent / "flow")]
    import group_plan
    import kit
    import netns
    plan = group_plan.draw(a.seed, a.seconds, scopes(kit), a.net)
    if a.show:
        print(plan.text())
        return 0
    folder = pathlib.Path(a.folder)
    folder.mkdir(parents=True)
    (folder / "plan.txt").write_text(plan.text())
    began = time.monotonic()
    with netns.Net(group_plan.NODES) if a.net else contextlib.nullcontext() as net:
        case, found = lived(plan, folder, a.build, net)
    (folder / "found.txt").write_text("".join(f"{one}\n" for one in found))
    print(json.dumps({"seed": a.seed, "seconds": round(time.monotonic() - began, 1), "faults": len(plan.faults),
                      "runs": len(case.runs) if case else 0, **(case.facts() if case else {}), "found": found[:20]}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
