"""The course of a seed: what is done at which moment, and what is told of it. Rigs say what they do meanwhile."""
import heapq
import itertools
import time


class Course:
    def __init__(self):
        self.events, self.order = [], itertools.count()
        self.story, self.wrong = [], []

    def say(self, text):
        self.story.append(f"{time.time():.3f} {text}")

    def later(self, at, act):
        heapq.heappush(self.events, (at, next(self.order), act))

    def after(self, seconds, act):
        self.later(time.monotonic() + seconds, act)

    def run(self, plan, mind):
        """Does the plan's faults and what follows from them, each at its moment; `mind` is called in between."""
        began = time.monotonic()
        for f in plan.faults:
            self.later(began + f.at, lambda f=f: self.do(f))
        self.later(began + plan.active, lambda: None)
        while self.events:
            at, _, act = heapq.heappop(self.events)
            while (wait := at - time.monotonic()) > 0:
                mind()
                time.sleep(min(wait, 0.1))
            act()
