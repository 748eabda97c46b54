"""Planned instants per CPU second by kind of schedule. Floor: no expression, but one division for an interval, or one
date taken apart and put together by libc, in UTC or in Berlin. The rare one (a fifth Monday of February) is 28
years away each time; `count` counts the instants of a year of seconds."""
import os

from measure import in_turn, program


# Of the floor: a schedule that is asked most is to cost no more than libc's date alone.
GOALS = {"every": 0.5, "minute": 1, "daily": 1, "weekly": 1, "rare": 0.1, "count": 0.1}


def rate(name, kind, seconds, zone="UTC"):
    return float(program(name, kind, seconds, env={**os.environ, "TZ": zone}))


def run(context):
    seconds = max(context.options.seconds / 10, 0.2)
    for kind, floor, zone in (("every", "every", "UTC"), ("minute", "utc", "UTC"), ("daily", "zone", "Europe/Berlin"),
                              ("weekly", "zone", "America/New_York"), ("rare", "zone", "Europe/Berlin"), ("count", "zone", "Europe/Berlin")):
        bare, ours = in_turn(context.options.rounds, lambda: rate("floor_next", floor, seconds, zone),
                             lambda: rate("next", kind, seconds))
        context.report.row("schedule", kind, "counts" if kind == "count" else "instants", "/s", ours, bare,
                           ratio_min=GOALS[kind])
