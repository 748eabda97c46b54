"""The commands about schedules: next, due and explain, over all cases of t/vectors, and what they print for people."""
import concurrent.futures
import json
import re
import subprocess

import kit
import pytest

ONE_IN = 8 if kit.SANITIZED else 1   # under them a process starts ten times slower
BERLIN = ("--tz", "Europe/Berlin")


def onced(*arguments):
    return subprocess.run([kit.ONCED, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def cases(name):
    lines = (kit.SOURCE / "t/vectors" / name).read_text().splitlines()
    assert len(lines) >= 12, name
    return [json.loads(line) for line in lines][::ONE_IN]


def run_all(work):
    """`work` is pairs of a case and the command it asks for; gives pairs of the case and what came of it."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda one: (one[0], onced(*one[1])), work))


def schedule_options(schedule):
    if "expr" in schedule:
        return ["--cron", schedule["expr"], "--tz", schedule["tz"], "--fold", schedule["overlap"]]
    return ["--every", f"{schedule['every_ms']}ms", "--anchor", schedule["anchor_ms"]]


def next_options(case):
    return ["next", *schedule_options(case), "--from", case["from"], "--until", "2100-01-01T00:00:00Z",
            "--count", max(1, len(case["next"])), "--json"]


def test_next_gives_the_instants_of_every_cron_vector():
    given = [c for c in cases("cron.jsonl") if not c.get("error")]
    for case, done in run_all([(c, next_options(c)) for c in given]):
        if case["next"]:
            assert done.returncode == 0 and json.loads(done.stdout) == case["next"], (case, done)
        else:   # none until then; what never comes at all may say so
            assert done.stdout == "[]\n" or "never comes" in done.stderr, (case, done)


def test_next_gives_the_instants_of_every_interval_vector():
    for case, done in run_all([(c, next_options(c)) for c in cases("interval.jsonl")]):
        assert done.returncode == 0 and json.loads(done.stdout) == case["next"], (case, done)


def test_next_refuses_what_the_vectors_refuse_with_a_reason():
    wrong = [c for c in cases("cron.jsonl") if c.get("error")]
    work = [(c, ["next", "--cron", c["expr"], "--tz", c.get("tz", "UTC")]) for c in wrong]
    work += [(c, ["next", "--cron", "0 0 * * *", "--tz", c["tz"]]) for c in cases("refused.jsonl") if "tz" in c]
    work += [(c, ["next", "--every", f"{c['every_ms']}ms"]) for c in cases("refused.jsonl") if "every_ms" in c]
    assert len(work) >= 24 // ONE_IN
    for case, done in run_all(work):
        assert done.returncode == 78 and done.stdout == "", (case, done)
        assert re.match(r"onced next: --(cron|tz|every): \S+ .*\n", done.stderr), (case, done)


def due_options(case):
    options = ["due", *schedule_options(case["schedule"]), "--cursor", case["cursor"] or "none", "--now", case["now"],
               "--misfire", case["policy"].replace("-", "_"), "--json"]
    for key, unit in (("grace", "s"), ("lookback", "s"), ("limit", "")):
        if key in case:
            options += [f"--{key}", f"{case[key]}{unit}"]
    return options


def test_due_decides_every_misfire_vector():
    for case, done in run_all([(c, due_options(c)) for c in cases("misfire.jsonl")]):
        assert done.returncode == 0, (case, done)
        assert json.loads(done.stdout) == {"run": case["run"], "skipped": case["skipped"]}, (case, done)


def test_next_says_where_a_local_time_does_not_exist():
    done = onced("next", "--cron", "30 2 * * *", *BERLIN, "--from", "2027-03-26T12:00:00Z", "--count", 2)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "UTC                   Europe/Berlin",
        "2027-03-27T01:30:00Z  Sat 2027-03-27 02:30:00 +01:00 CET",
        "                      02:00-03:00 does not exist on 2027-03-28: nothing fires",
        "2027-03-29T00:30:00Z  Mon 2027-03-29 02:30:00 +02:00 CEST"]


@pytest.mark.parametrize("fold, second, note", [
    ("first", [], "fires the first time only"),
    ("both", ["2027-10-31T01:30:00Z  Sun 2027-10-31 02:30:00 +01:00 CET"], "fires both times")])
def test_next_says_where_a_local_time_comes_twice(fold, second, note):
    done = onced("next", "--cron", "30 2 * * *", *BERLIN, "--fold", fold, "--from", "2027-10-30T12:00:00Z",
                 "--until", "2027-11-01T01:30:00Z")
    assert done.stdout.splitlines() == [
        "UTC                   Europe/Berlin",
        "2027-10-31T00:30:00Z  Sun 2027-10-31 02:30:00 +02:00 CEST",
        f"                      02:00-03:00 comes twice on 2027-10-31: {note}",
        *second,
        "2027-11-01T01:30:00Z  Mon 2027-11-01 02:30:00 +01:00 CET"]


@pytest.mark.parametrize("expression, zone, start, note", [
    ("0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", "00:00-24:00 does not exist on 2011-12-30: nothing fires"),
    ("*/10 * * * *", "Australia/Lord_Howe", "2027-10-02T15:00:00Z",
     "02:00-02:30 does not exist on 2027-10-03: nothing fires"),
    ("0 * * * *", "America/St_Johns", "1988-04-03T00:00:00Z",
     "00:01-02:01 does not exist on 1988-04-03: nothing fires"),
    ("* * * * *", "Africa/Monrovia", "1972-01-07T00:40:00Z",
     "00:00-00:44:30 does not exist on 1972-01-07: nothing fires")])
def test_odd_changes_of_the_clock_are_told_as_they_are(expression, zone, start, note):
    done = onced("next", "--cron", expression, "--tz", zone, "--from", start, "--count", 20)
    assert done.returncode == 0 and note in done.stdout, done


def test_a_change_that_the_schedule_does_not_meet_is_not_told():
    done = onced("next", "--cron", "0 9 * * *", *BERLIN, "--from", "2027-03-26T12:00:00Z", "--count", 500)
    assert done.returncode == 0
    assert "CEST" in done.stdout and "exist" not in done.stdout and "twice" not in done.stdout


def test_next_takes_instants_later_than_from_and_up_to_until():
    hour = ("next", "--every", "1h", "--json", "--from", "2026-05-01T10:00:00Z")
    assert json.loads(onced(*hour, "--until", "2026-05-01T12:00:00Z").stdout) == [
        "2026-05-01T11:00:00.000Z", "2026-05-01T12:00:00.000Z"]
    assert len(json.loads(onced(*hour).stdout)) == 10
    assert len(json.loads(onced(*hour, "--until", "2026-05-03T00:00:00Z").stdout)) == 38
    assert json.loads(onced(*hour, "--until", "2026-05-01T10:59:59Z").stdout) == []
    many = onced("next", "--every", "1h", "--from", "2026-05-01T10:00:00Z", "--until", "2036-05-01T10:00:00Z")
    assert many.returncode == 0 and len(many.stdout.splitlines()) == 10001
    assert many.stderr == "onced next: there are more than these 10000\n"
    none = onced("next", "--every", "1h", "--from", "2026-05-01T10:00:00Z", "--until", "2026-05-01T10:30:00Z")
    assert (none.returncode, none.stdout) == (0, "") and "nothing is planned" in none.stderr


def test_milliseconds_are_shown_where_a_schedule_has_them():
    done = onced("next", "--every", "250ms", "--from", "2026-05-01T10:00:00Z", "--count", 1)
    assert done.stdout == "UTC\n2026-05-01T10:00:00.250Z  Fri\n"
    done = onced("next", "--every", "1h", "--anchor", "-1", "--from", "2026-05-01T10:00:00Z", "--count", 1)
    assert done.stdout == "UTC\n2026-05-01T10:59:59.999Z  Fri\n"
    done = onced("next", "--every", "1d", "--anchor=2020-01-01T06:00:00Z", "--from=2026-05-01T10:00:00Z", "--count=1")
    assert done.stdout == "UTC\n2026-05-02T06:00:00Z  Sat\n"


def test_a_bad_expression_is_shown_with_a_mark_below_it():
    done = onced("next", "--cron", "0\t25 * * \x1b", "--from", "2026-05-01T10:00:00Z")
    assert done.returncode == 78
    first, shown, mark = done.stderr.splitlines()
    assert first.startswith('onced next: --cron: field 2, hour: "25" is out of range') and "0-23" in first
    assert (shown, mark) == ("  0 25 * * ?", "    ^^")
    zone = onced("explain", "--cron", "@daily", "--tz", "Europe/Berln")
    assert zone.returncode == 78 and "Europe/Berlin" in zone.stderr
    long = onced("next", "--cron", "0," * 500 + "0 * * * *")
    assert long.returncode == 78 and len(long.stderr) < 400, long.stderr


@pytest.mark.parametrize("arguments, said", [
    ((), "one of --cron EXPR, --every SPAN and TASK is needed"),
    (("--cron", "@daily", "--every", "1h"), "one of --cron"),
    (("--cron", "@daily", "--anchor", "0"), "--anchor belongs to --every"),
    (("--every", "1h", "--tz", "UTC"), "--tz and --fold belong to --cron"),
    (("--cron", "@daily", "--fold", "last"), '--fold: "last" is none of first, both'),
    (("--every", "1h", "--anchor", "noon"), '--anchor: "noon" is no time'),
    (("--every", "1h", "--from", "noon"), '--from: "noon" is no time'),
    (("--every", "1h", "--until", "noon"), '--until: "noon" is no time'),
    (("--every", "1h", "--count", "0"), '--count: "0" is no number from 1 to 10000'),
    (("--every", "1h", "--count", "10001"), "is no number from 1 to 10000"),
    (("--every", "1h", "--count", "99999999999999999999"), "is no number"),
    (("--every", "1h", "--count", "1x"), "is no number"),
    (("--every", "1h", "--every", "2h"), "--every is given twice"),
    (("--every", "1h", "--json=1"), "--json takes no value"),
    (("--every", "1h", "--until"), "--until wants a value"),
    (("--every", "1h", "--nope"), "unknown option --nope"),
    (("task",), "TASK and -c FILE belong together"),
    (("--every", "1h", "-c", "x"), "TASK and -c FILE belong together"),
    (("one", "two"), "unexpected argument two")])
def test_a_wrong_command_line_is_usage(arguments, said):
    done = onced("next", *arguments)
    assert done.returncode == 64 and done.stdout == "", done
    assert said in done.stderr and "usage: onced next" in done.stderr, done.stderr


@pytest.mark.parametrize("arguments, said", [
    ((), "--cursor TIME is missing"),
    (("--cursor", "now"), '--cursor: "now" is no time'),
    (("--cursor", "none", "--now", "noon"), '--now: "noon" is no time'),
    (("--cursor", "none", "--misfire", "run"), '--misfire: "run" is none of skip, catch_up'),
    (("--cursor", "none", "--limit", "2"), "--limit and --lookback are for --misfire catch_up"),
    (("--cursor", "none", "--misfire", "catch_up", "--grace", "1s"), "--grace is for --misfire skip"),
    (("--cursor", "none", "--misfire", "catch_up", "--limit", "1001"), "is no number from 1 to 1000"),
    (("--cursor", "none", "--misfire", "catch_up", "--lookback", "367d"), "is no duration"),
    (("--cursor", "none", "--grace", "59"), '--grace: "59" is no duration')])
def test_a_wrong_question_to_due_is_usage(arguments, said):
    done = onced("due", "--every", "1h", *arguments)
    assert done.returncode == 64 and done.stdout == "" and said in done.stderr, done


def test_due_tells_people_what_is_run_and_what_is_skipped():
    options = ("due", "--cron", "*/10 * * * *", "--now", "2026-05-01T10:00:10Z")
    done = onced(*options, "--cursor", "2026-05-01T08:00:00Z", "--misfire", "catch_up", "--limit", 2)
    assert done.stdout == ("run now\n  2026-05-01T09:50:00Z  Fri\n  2026-05-01T10:00:00Z  Fri\n"
                           "skipped: 10, 2026-05-01T08:10:00Z to 2026-05-01T09:40:00Z\n")
    done = onced(*options, "--cursor", "2026-05-01T10:00:00Z")
    assert done.stdout == "run now: nothing\nskipped: nothing\n"


def configuration(folder):
    path = folder / "onced.yaml"
    path.write_text("""
defaults: { timeout: 30s, tz: Europe/Berlin }
tasks:
  - { name: report, cron: "30 5 * * MON-FRI", misfire: { policy: catch_up, limit: 3, lookback: 2d }, noop: true }
  - { name: pulse, every: 1h, overlap: queue, first: next, singleton: dedicated, shards: 4, noop: true }
  - { name: told, scope: manual, noop: true }
  - { name: asleep, every: 1h, enabled: false, overlap: concurrent, singleton: none, noop: true }
""")
    return path


def test_the_schedule_of_a_task_is_asked_by_its_name(folder):
    path = configuration(folder)
    done = onced("next", "report", "-c", path, "--from", "2027-01-01T00:00:00Z", "--count", 2)
    assert done.stdout.splitlines()[1:] == ["2027-01-01T04:30:00Z  Fri 2027-01-01 05:30:00 +01:00 CET",
                                            "2027-01-04T04:30:00Z  Mon 2027-01-04 05:30:00 +01:00 CET"]
    monday = ("due", "report", "-c", path, "--json", "--now", "2027-01-04T12:00:00Z")
    done = onced(*monday, "--cursor", "2026-12-30T12:00:00Z")   # its own policy
    assert json.loads(done.stdout) == {"run": ["2027-01-04T04:30:00Z"], "skipped": 2}
    done = onced(*monday, "--cursor", "2026-12-30T12:00:00Z", "--lookback", "30d")   # with one thing changed
    assert json.loads(done.stdout)["run"] == ["2026-12-31T04:30:00Z", "2027-01-01T04:30:00Z", "2027-01-04T04:30:00Z"]
    pulse = ("due", "pulse", "-c", path, "--json", "--now", "2027-01-04T12:00:00Z")
    assert json.loads(onced(*pulse, "--cursor", "none").stdout) == {"run": [], "skipped": 0}   # first: next
    asleep = onced("next", "asleep", "-c", path, "--count", 1)
    assert asleep.returncode == 0 and "disabled: nothing of this runs" in asleep.stderr


def test_a_task_that_is_not_there_is_said_with_a_near_one(folder):
    path = configuration(folder)
    done = onced("explain", "reprot", "-c", path)
    assert done.returncode == 64 and "has no task reprot; did you mean report?" in done.stderr, done.stderr
    done = onced("next", "zzzzzzzz", "-c", path)
    assert done.returncode == 64 and "has no task zzzzzzzz\n" in done.stderr, done.stderr
    done = onced("next", "report", "-c", folder / "gone.yaml")
    assert done.returncode == 78 and "gone.yaml: error: cannot be read" in done.stderr, done.stderr
    path.write_text("tasks: [ { name: a, timeout: 1s, cron: '0 25 * * *', noop: true } ]\n")
    done = onced("explain", "a", "-c", path)
    assert done.returncode == 78, done.stderr
    assert re.search(r'onced.yaml:1:43: error: task "a": cron: .*"25"', done.stderr), done.stderr


def test_explain_says_schedule_and_policies_in_words(folder):
    path = configuration(folder)
    report = onced("explain", "report", "-c", path).stdout
    for words in ("task      report\n", "at 05:30 on Monday to Friday\n", "Europe/Berlin, time zone data 20",
                  "comes twice fires the first time only", "flock: ", "once on this machine",
                  "catch_up: of what was missed, the newest 3 of the last 2d are run, oldest first",
                  "queue: what is due while a run goes on waits, up to 3 of them", "a run is ended after 30s\n"):
        assert words in report, (words, report)
    assert len(re.findall(r"^  20\d\d-.* 05:30:00 .* CES?T$", report, re.M)) == 3, report
    pulse = onced("explain", "pulse", "-c", path).stdout
    for words in ("every 1h, on a grid through 1970-01-01T00:00:00Z", "dedicated: ", "4 at each instant",
                  "for each shard", "skip: of what was missed, only the newest is run, and only within 59 s, or the "
                  "interval if that is less",
                  "next: at the very first start nothing counts as missed", "up to 100 of them"):
        assert words in pulse, (words, pulse)
    told = onced("explain", "told", "-c", path).stdout
    assert "when      never by itself\n" in told and "only when told" in told and "next\n" not in told
    assert onced("next", "told", "-c", path, "--json").stdout == "[]\n"
    due = onced("due", "told", "-c", path, "--json", "--cursor", "none")
    assert json.loads(due.stdout) == {"run": [], "skipped": 0}
    asleep = onced("explain", "asleep", "-c", path)
    assert "disabled" in asleep.stderr
    assert "none: every worker" in asleep.stdout and "up to 10 run at once" in asleep.stdout


def test_explain_gives_programs_the_facts(folder):
    path = configuration(folder)
    report = json.loads(onced("explain", "report", "-c", path, "--json").stdout)
    assert report["task"] == "report" and report["tz"] == "Europe/Berlin" and report["dst_fold"] == "first"
    assert report["when"] == "at 05:30 on Monday to Friday" and report["tzdata"].startswith("20")
    assert report["misfire"] == {"policy": "catch_up", "limit": 3, "lookback_ms": 2 * 86400_000}
    assert report["overlap"] == {"policy": "queue", "queue_limit": 3} and report["timeout_ms"] == 30_000
    assert report["next"] == json.loads(onced("next", "report", "-c", path, "--count", 3, "--json").stdout)
    pulse = json.loads(onced("explain", "pulse", "-c", path, "--json").stdout)
    assert (pulse["every_ms"], pulse["anchor_ms"], pulse["shards"]) == (3600_000, 0, 4)
    assert pulse["misfire"] == {"policy": "skip", "grace": "auto"} and pulse["first"] == "next"
    told = json.loads(onced("explain", "told", "-c", path, "--json").stdout)
    assert told["schedule"] == "none" and told["next"] == [] and told["scope"] == "manual"
    asleep = json.loads(onced("explain", "asleep", "-c", path, "--json").stdout)
    assert not asleep["enabled"] and asleep["overlap"] == {"policy": "concurrent", "max_running": 10}
    loose = json.loads(onced("explain", "--cron", "0 5 * * *", "--json").stdout)
    assert "task" not in loose and loose["schedule"].startswith("cron ") and len(loose["next"]) == 3


@pytest.mark.parametrize("command", [["next"], ["explain"], ["explain", "--json"], ["due", "--cursor", "none"]])
def test_what_the_clock_always_skips_is_refused_as_check_does(folder, command):
    expression = "30 2 * 3 0L"   # the last Sunday of March, when summer time begins
    done = onced(*command, "--cron", expression, *BERLIN)
    assert (done.returncode, done.stdout) == (78, "")
    assert "--cron: never comes in Europe/Berlin: its clock skips all that is named" in done.stderr, done.stderr
    path = folder / "onced.yaml"
    path.write_text(f"tasks: [ {{ name: a, timeout: 1s, cron: '{expression}', tz: Europe/Berlin, noop: true }} ]\n")
    check = onced("check", path)
    assert check.returncode == 78 and "never comes in Europe/Berlin" in check.stderr + check.stdout
    assert onced(*command, "--cron", expression).returncode == 0


def test_a_list_ends_with_what_can_be_written():
    done = onced("next", "--every", "1d", "--from", "9999-12-29T00:00:00Z", "--count", 5)
    assert done.returncode == 0 and re.findall(r"^\d{4}-\d\d-\d\d", done.stdout, re.M) == ["9999-12-30", "9999-12-31"]
    assert "the end of the year 9999" in done.stderr
    assert json.loads(onced("next", "--every", "7h", "--from", "9999-12-31T20:00:00Z", "--json").stdout) == []


def test_what_is_not_plain_text_is_shown_byte_for_byte():
    done = onced("next", "--cron", "30 2 * * \u00fc")
    assert done.returncode == 78
    said, shown, mark = done.stderr.splitlines()
    assert '"??" cannot be read' in said and shown.index("??") == mark.index("^^") and mark.strip() == "^^"
    assert onced("next", "--cron", "").stderr.splitlines()[1:] == ["  ", "  ^"]
