"""The files of a fuzzer's corpus."""

import os


class Corpus:
    """A new folder with numbered files."""

    def __init__(self, folder):
        os.makedirs(folder)
        self.folder = folder
        self.number = 0

    def write(self, kind, data):
        with open(os.path.join(self.folder, "%s-%d" % (kind, self.number)), "wb") as f:
            f.write(data)
        self.number += 1
