"""Records a program many times while memory is short; it must always end as it would
without Mneme, and what was recorded must be whole.

  shortage.py failures LIBRARY OBJECT TOOL OPTION... -- APP   every N-th call of OBJECT
                                                              fails, alone, or with all
                                                              that follow
  shortage.py limits TOOL OPTION... -- APP                    under limits of memory
  shortage.py launcher LIBRARY TOOL OPTION... -- APP          the launcher has no more memory
                                                              from some time on

A part of the runs, unless MNEME_TEST_EVERY is set: then all."""
import collections
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

EVERY = bool(os.environ.get("MNEME_TEST_EVERY"))


class Runs:
    def __init__(self, command, may_fail, launcher_fails=False):
        split = command.index("--")
        self.tool, self.options, self.app = command[0], command[1:split], command[split + 1 :]
        self.may_fail = may_fail
        self.launcher_fails = launcher_fails
        self.count = collections.Counter()
        self.bad = 0

    def run(self, name, app=None, **environment):
        """Records once. Prints what is wrong with that."""
        folder = tempfile.mkdtemp(prefix="shortage-")
        command = [self.tool, *self.options, "-o", folder + "/rec", "--", *(app or self.app)]
        try:
            done = subprocess.run(command, env=dict(os.environ, **environment), timeout=300,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, err = done.stdout.decode(), done.stderr.decode()
            problem = self.judge(done.returncode, out, err)
            if not problem and glob.glob(folder + "/rec/*.json"):
                check = subprocess.run([self.tool, "check", folder + "/rec"],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if check.returncode:
                    problem = "what was recorded is not whole: " + check.stdout.decode()
            left = set(os.path.basename(f) for f in glob.glob(folder + "/rec/.*")) - {".lock"}
            if not problem and left and not self.launcher_fails:
                problem = "files are left: %s" % left
        except subprocess.TimeoutExpired:
            problem, out, err = "it hangs", "", ""
        finally:
            shutil.rmtree(folder)
        if problem:
            self.bad += 1
            print("%s: %s\n%s%s" % (name, problem, out, err), file=sys.stderr, flush=True)
        return err

    def judge(self, code, out, err):
        self.count["runs"] += 1
        if code == 0 and out == "right\n":
            self.count["right"] += 1
            self.count["with skipped launches"] += "skipped: out of memory" in err
        elif self.launcher_fails and code == 1 and out in ("", "right\n") and err.count("error: ") == 1:
            self.count["that went on" if out else "that did not start"] += 1
        elif self.may_fail and code == 3 and ("cudaError" in out or "hipError" in out):
            self.count["that said so"] += 1
        elif self.may_fail and code == 77 and re.search("emulated (CUDA driver|HIP runtime): out of memory", err):
            self.count["of an emulated driver without memory"] += 1
        elif self.may_fail and code == 127 and not out:
            self.count["that did not start"] += 1
        else:
            return "exit code %d" % code
        return ""

    def finish(self):
        print(", ".join("%d %s" % (n, what) for what, n in self.count.items()))
        if self.bad:
            sys.exit("%d runs went wrong" % self.bad)


def fail_calls(library, wanted, runs, stride):
    log = tempfile.mktemp(prefix="shortage-log-")
    preloads = dict(LD_PRELOAD=library, FAIL_IN=wanted, FAIL_LOG=log)

    def calls():
        if not os.path.exists(log):
            return sys.maxsize  # It was killed.
        with open(log) as lines:
            numbers = [int(line) for line in lines]
        os.unlink(log)
        return max(numbers)

    runs.run("no failure", **preloads)
    if not calls():
        sys.exit("no call was seen")
    for count in 1, 0:
        at = 1
        # The last ones have calls enough, but none that fails.
        while True:
            runs.run("from call %d, %s" % (at, count or "all"), FAIL_FROM=str(at),
                     FAIL_COUNT=str(count), **preloads)
            if calls() < at:
                break
            at += 1 if EVERY else stride


def fail_launcher(library, runs, steps):
    """Whether its own allocations fail, or those of LLVM's containers."""
    for wanted in "libstdc++", "libLLVM":
        log = tempfile.mktemp(prefix="shortage-log-")
        preloads = dict(LD_PRELOAD=library, FAIL_IN=wanted, FAIL_PROGRAM=os.path.basename(runs.tool))
        runs.run("no failure", FAIL_LOG=log, **preloads)
        with open(log) as lines:
            total = max(int(line) for line in lines)
        os.unlink(log)
        # The first calls are made before there is a launcher.
        for step in range(steps // 4, steps):
            at = 1 + total * step // steps
            runs.run("%s from call %d of %d" % (wanted, at, total), FAIL_FROM=str(at),
                     FAIL_COUNT="0", **preloads)


def limit(runs, steps):
    for option in "v", "d":
        for step in range(0, 51, 1 if EVERY else 51 // steps):
            # From 4 MiB to 4 GiB, the same factor each time.
            kib = int(4096 * 2 ** (step / 5))
            app = ["sh", "-c", 'ulimit -%s %d && exec "$0" "$@"' % (option, kib), *runs.app]
            runs.run("ulimit -%s %d" % (option, kib), app)


mode, arguments = sys.argv[1], sys.argv[2:]
# A core file of each that goes wrong is of no use.
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if mode == "launcher":
    runs = Runs(arguments[1:], may_fail=False, launcher_fails=True)
    fail_launcher(arguments[0], runs, 200 if EVERY else 8)
elif mode == "limits":
    runs = Runs(arguments, may_fail=True)
    limit(runs, 10)
else:
    # A GPU's runtime is not ours: it finds memory.
    runs = Runs(arguments[2:], may_fail="--device=host" in arguments)
    fail_calls(arguments[0], arguments[1], runs, 67)
runs.finish()
