"""cmake-errors.py TABLE FOLDER OPTIONS...: configures a project for each row, which
must fail with one error that has the row's text."""
import os
import re
import shutil
import subprocess
import sys

table, folder, options = sys.argv[1], sys.argv[2], sys.argv[3:]
wrong = checked = 0
for line in open(table):
    if line.startswith("#"):
        continue
    name, more, text, expected = [part.strip() for part in line.split("|")]
    # What is not installed cannot be tested here.
    compiler = re.search(r"COMPILER=(\S+)", more)
    if compiler and not shutil.which(compiler[1]):
        print(f"{name}: no {compiler[1]}")
        continue
    source = os.path.join(folder, re.sub(r"\W+", "-", name))
    os.mkdir(source)
    for file in "a.cpp", "a.c", "a.cu":
        open(os.path.join(source, file), "w").write("int main() { return 0; }\n")
    with open(os.path.join(source, "CMakeLists.txt"), "w") as file:
        file.write("cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES CXX)\n"
                   "find_package(Mneme REQUIRED)\n" + text.replace(") ", ")\n") + "\n")
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", source + "/b", *options, *more.split()],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = " ".join(done.stderr.decode().split())
    pattern = ".*".join(re.escape(part) for part in expected.split("{{.*}}"))
    checked += 1
    if done.returncode == 0 or said.count("CMake Error") != 1 or not re.search(pattern, said):
        print(f"{name}: exit code {done.returncode}, expected '{expected}', got: {said}")
        wrong += 1
print(f"{checked} checked, {wrong} wrong")
sys.exit(wrong > 0 or checked < 8)
