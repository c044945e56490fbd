"""Kills llvm-mneme-deploy prove while the application runs, and waits for the application's end."""
import os
import subprocess
import time

LIMIT = 60


def wait_until(condition):
    end = time.time() + LIMIT
    while time.time() < end and not condition():
        time.sleep(0.05)
    return condition()


def find_application():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read() == f"{os.getcwd()}/app\0hang\0".encode():
                    return pid
        except OSError:
            pass
    return None


tool = subprocess.Popen(["llvm-mneme-deploy", "prove", "--device=host", "same.mneme", "--", os.getcwd() + "/app", "hang"])
print("the application runs" if wait_until(find_application) else "the application did not start")
tool.kill()
tool.wait()
print("the application ended" if wait_until(lambda: not find_application()) else "the application outlives the tool")
