"""mutate-package.py PACKAGE APP CORPUS: a package, and an executable that contains it, cut
off and changed."""
import random
import struct
import sys

from corpus import Corpus

package, app = (open(path, "rb").read() for path in sys.argv[1:3])
corpus = Corpus(sys.argv[3])
generator = random.Random(1)
corpus.write("whole", package)
corpus.write("whole", app)
# The same variants as code objects of an AMD GPU: MnemePackageVariant::ImageKind and ::Arch.
cubin, code_object, arch = struct.pack("<I", 1), struct.pack("<I", 3), struct.pack("<I", 90)
assert package.count(cubin + arch) == 2
corpus.write("amd", package.replace(cubin + arch, code_object + arch))
for i in range(400):
    # Tables come first; the rest is an image.
    at = generator.randrange(min(len(package), 1200))
    value = generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)])
    end = at + generator.choice([1, 2, 4, 8])
    corpus.write("flip", package[:at] + bytes([value]) * (end - at) + package[end:])
    corpus.write("swap", package[:at] + package[end : end + 64] + package[at:end] + package[end + 64 :])
    if i % 4 == 0:
        corpus.write("cut", package[:at])
    if i % 20 == 0:
        # The headers of the sections come last.
        at = len(app) - 1 - generator.randrange(4000)
        corpus.write("app", app[:at] + bytes([value]) + app[at + 1 :])
