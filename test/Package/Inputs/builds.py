"""builds.py TABLE FOLDER RECORD REPLAY CUDA SOURCE COMPILE...: builds SOURCE in the
ways of the table. Each program records, and what it recorded replays to the same."""
import os
import re
import shutil
import subprocess
import sys

table, folder, record, replay, cuda, source, *compile_ = sys.argv[1:]
lib = os.path.join(cuda, "lib64")
words = {
    "%cxx": " ".join(compile_[:2]),
    "%shared": f"-L{lib} -Wl,-rpath,{lib} -lcudart",
    "%static": f"-L{lib} -lcudart_static -ldl -lrt -lpthread",
}


def run(command):
    done = subprocess.run(command, shell=isinstance(command, str), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        raise RuntimeError(f"{command}: {done.returncode}: {text}")
    return text


objects = {}  # by flags


def build_and_record(name, flags, link):
    base = os.path.join(folder, re.sub(r"\W+", "-", name))
    if flags not in objects:
        objects[flags] = base + ".o"
        run([*compile_, *flags.split(), "-c", source, "-o", objects[flags]])
    names = {**words, "%o": objects[flags], "%x": base}
    run(re.sub(r"%\w+", lambda word: names[word[0]], link))
    said = run([record, "--device=host", "-o", base + ".rec", "--", base])
    if "1 launch seen, 1 recorded" not in said:
        raise RuntimeError(said)
    run([record, "check", base + ".rec"])
    said = run([replay, base + ".rec", "--device=host", "--iterations=1"])
    if '"verdict": "Match"' not in said:
        raise RuntimeError(said)


wrong = 0
for line in open(table):
    if line.startswith("#"):
        continue
    name, flags, link = [part.strip() for part in line.split("|")]
    linker = link.split()[0]
    used = [linker] + re.findall(r"-fuse-ld=(\w+)", link)
    missing = [w for w in used if not w.startswith("%") and not shutil.which(w) and not shutil.which("ld." + w)]
    if missing:
        print(f"{name}: no {missing[0]}")
        continue
    try:
        build_and_record(name, flags, link)
        print(f"{name}: good")
    except RuntimeError as error:
        print(f"{name}: {error}")
        wrong += 1
sys.exit(wrong > 0)
