#!/usr/bin/python3
"""Lives one seed and judges it: `seed.py --seed N --build DIR --folder DIR [--short] [--show]`. Exit 0 when every
promise was kept, 1 with what was broken in FOLDER/found.txt."""
import argparse
import json
import os
import pathlib
import signal
import sys
import time

here = pathlib.Path(__file__).resolve().parent


LIMIT_SECONDS = 180


def out_of_time(*_):
    raise TimeoutError(f"the history did not end within {LIMIT_SECONDS} s")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--build", required=True)
    p.add_argument("--folder", required=True)
    p.add_argument("--short", action="store_true")
    p.add_argument("--show", action="store_true", help="only print what the seed means")
    a = p.parse_args()
    os.environ["ONCED_BUILD"] = a.build
    sys.path[:0] = [str(here), str(here.parent / "flow")]
    import draw
    plan = draw.draw(a.seed, a.short)
    if a.show:
        print(plan.text())
        return 0
    import check
    import kit
    import rig
    folder = pathlib.Path(a.folder)
    folder.mkdir(parents=True)
    (folder / "plan.txt").write_text(plan.text())
    began = time.monotonic()
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(LIMIT_SECONDS)
    r = rig.Rig(plan, folder, a.build)
    try:
        r.live()
        lived = time.monotonic() - began
        case = check.Case(r)
        proof = kit.prove(folder / "node/log")
        found = check.judge(case, proof) + list(check.tampering_shows(case, folder, kit.prove))
        (folder / "proof.json").write_text(proof.raw)
    except Exception as e:   # whatever it is, it belongs to this seed
        found, lived, case = [f"harness: {e.__class__.__name__}: {e}"], time.monotonic() - began, None
        if not isinstance(e, AssertionError):
            import traceback
            (folder / "traceback.txt").write_text(traceback.format_exc())
    finally:
        signal.alarm(60)
        (folder / "story.txt").write_text("\n".join(r.story) + "\n")
        r.end()
    if case:
        (folder / "witness.json").write_text(json.dumps({"requests": case.requests, "lives": case.lives}))
    (folder / "found.txt").write_text("".join(f"{one}\n" for one in found))
    facts = {"seed": a.seed, "seconds": round(lived, 1), "runs": len(case.runs) if case else 0, "faults": len(plan.faults),
             "found": found[:20]}
    print(json.dumps(facts))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
