"""Runs test modules of CPython's own, named on the command line, and prints what became of each test, as JSON."""

import json
import sys
import unittest


class Outcomes(unittest.TestResult):
    """Test → passed, skipped, failed or error; one with parts that fail has failed."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def addSuccess(self, test):
        self.outcomes.setdefault(test.id(), "passed")

    def addSkip(self, test, reason):
        self.outcomes[test.id()] = "skipped"

    def addFailure(self, test, err):
        self.outcomes[test.id()] = "failed"

    def addError(self, test, err):
        self.outcomes[test.id()] = "error"

    def addSubTest(self, test, subtest, err):
        if err:
            self.outcomes[test.id()] = "failed"


result = Outcomes()
unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:]).run(result)
print(json.dumps(result.outcomes))
