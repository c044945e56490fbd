"""odd-files.py RECORDING SCRATCH PATTERNS[:ODD] COMMAND...: runs the command, in which {} is a
copy of the recording, once for each way in which one of its files (those that match one of
the patterns, with ',' between them) can be none: a FIFO that nobody writes to, a device
without end, a socket, a folder, a file of 64 GiB of nothing. Each time the command must
end by itself with exit code 1 and an error that names the file, and without much memory.
ODD: only these ways, with ',' between them."""
import glob
import os
import resource
import shutil
import socket
import subprocess
import sys

recording, scratch, patterns, *command = sys.argv[1:]


def fifo(path):
    os.mkfifo(path)


def device(path):
    os.symlink("/dev/zero", path)


def sock(path):
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    os.close(folder)


def folder(path):
    os.mkdir(path)


def sparse(path):
    with open(path, "wb") as f:
        f.truncate(64 << 30)


patterns, _, names = patterns.partition(":")
for pattern in patterns.split(","):
    for odd in fifo, device, sock, folder, sparse:
        if names and odd.__name__ not in names.split(","):
            continue
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(recording, os.path.join(scratch, "rec"))
        path = sorted(glob.glob(os.path.join(scratch, "rec", pattern)))[0]
        os.remove(path)
        odd(path)
        words = [word.replace("{}", os.path.join(scratch, "rec")) for word in command]
        what = "%s as a %s: %s: " % (os.path.basename(path), odd.__name__, " ".join(words))
        try:
            run = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, universal_newlines=True, timeout=300)
        except subprocess.TimeoutExpired:
            sys.exit(what + "does not end")
        if run.returncode != 1 or os.path.basename(path) not in run.stdout:
            sys.exit("%sexit code %d, %s" % (what, run.returncode, run.stdout))
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if used > 1 << 20:
            sys.exit("%s%d KiB" % (what, used))
shutil.rmtree(scratch)
print("refused")
