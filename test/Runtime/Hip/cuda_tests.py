"""Tests of ../Cuda that run here, too: their programs are compiled as HIP programs."""
import lit.formats
import lit.Test

# The others are about what HIP does not have, or Mneme does not do there: the CUDA driver's functions, PTX, textures.
NAMES = """cancelled.cu devices.cu exit.cu failures.cu graph-changes.cu graph-order.cu graphs.cu host-memory.cu large.cu launcher-shortage.cu memory.cu pools.cu
reachable.cu record.cu room.cu selection.test shortage.cu streams.cu threads.cu waiting.cu""".split()


class CudaTest(lit.Test.Test):
    def getSourcePath(self):
        return self.suite.getSourcePath(self.path_in_suite[:-2] + ("Cuda", self.path_in_suite[-1]))


class Format(lit.formats.ShTest):
    def getTestsInDirectory(self, testSuite, path_in_suite, litConfig, localConfig):
        yield from super().getTestsInDirectory(testSuite, path_in_suite, litConfig, localConfig)
        for name in NAMES:
            yield CudaTest(testSuite, path_in_suite + (name,), localConfig)
