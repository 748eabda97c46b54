"""When a task of a plan is due, reckoned from the plan's own words: multiples of a span, or second by second. Zones
move the clock's hands by whole minutes, so that they do not move seconds of a minute."""
MS_A_SECOND = 1000


def is_due(task, ms):
    if not task.get("seconds"):
        return ms % task["every_ms"] == 0
    return ms % MS_A_SECOND == 0 and ms // MS_A_SECOND % 60 in task["seconds"]


def after(task, ms):
    """The next instant."""
    step = task["every_ms"] if not task.get("seconds") else MS_A_SECOND
    ms += step - ms % step
    while not is_due(task, ms):
        ms += step
    return ms


def count(task, first, last):
    """How many instants lie in [first, last]."""
    if last < first:
        return 0
    if not task.get("seconds"):
        return last // task["every_ms"] - (first - 1) // task["every_ms"]

    def upto(ms):
        second = ms // MS_A_SECOND
        return second // 60 * len(task["seconds"]) + sum(s <= second % 60 for s in task["seconds"])
    return upto(last) - upto(first - 1)
