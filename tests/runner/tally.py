"""What tests came to: counted, named, and kept until the part that they belong to is over."""
import threading


class Tally:
    """The results and the output of one part of the tests, or of all of them. Its parts run beside each other, so that each
    keeps what it has to say until it ends. One thread at a time."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []   # names; a skip with its reason
        self.output = []

    def say(self, *lines):
        self.output += lines

    def success(self, name):
        self.passed.append(name)

    def fail(self, name, text=""):
        self.failed.append(name)
        self.say(f"FAILED {name}" + (f": {text}" if text else ""))

    def skip(self, name):
        self.skipped.append(name)
        self.say(f"skipped {name}")

    def counts(self):
        return len(self.passed), len(self.failed), len(self.skipped)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def words(counts):
    """"12 passed, 1 failed", with the words that matter."""
    named = zip(counts, ("passed", "failed", "skipped"))
    return ", ".join(f"{count} {word}" for count, word in named if count or word == "passed")


printing = threading.Lock()


def show(*lines):
    """Prints at once, not in the middle of what another thread prints."""
    with printing:
        print(*lines, sep="\n", flush=True)
