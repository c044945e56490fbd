import os
import stat
import sys
import tempfile

import llvm_mneme as mneme

kernel = mneme.open(sys.argv[1])["poly"]
real = mneme.find_suite().tool("replay")


def check(name):
    try:
        mneme.Executor(kernel, device="host").close()
    except mneme.SuiteError as error:
        print(f"{name}: {error}")
    else:
        print(f"{name}: no error")


def fake(text):
    folder = tempfile.mkdtemp(dir=sys.argv[2])
    path = os.path.join(folder, "llvm-mneme-replay")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    os.environ["MNEME_ROOT"] = folder


check("right")
os.environ["MNEME_ROOT"] = "/nonsense"
check("missing")
fake('echo "  Mneme version 7.1.0, LLVM 29.0.0, record format 2.1"; exit 1\n')
check("without serve")
fake("""if [ "$1" = --version ]; then echo "  Mneme version 7.1.0, LLVM 29.0.0, record format 2.1"; exit; fi
read line; echo '{"type":"failed","id":1,"reason":"request","error":"other"}'; cat > /dev/null
""")
check("other protocol")
fake("""read line; echo '{"type":"welcome","id":1,"protocol":1,"version":"7.2.0","llvm":"29","build":"x","descriptors":true}'
cat > /dev/null
""")
check("other version")
del os.environ["MNEME_ROOT"]
os.environ["PATH"] = os.path.dirname(real) + ":/usr/bin"
check("PATH")
