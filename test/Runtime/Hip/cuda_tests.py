"""Tests of ../Cuda that run in a folder for HIP, too: their programs are compiled as HIP programs."""
import os

import lit.formats
import lit.Test

class CudaTest(lit.Test.Test):
    def getSourcePath(self):
        return self.suite.getSourcePath(self.path_in_suite[:-2] + ("Cuda", self.path_in_suite[-1]))


class Format(lit.formats.ShTest):
    def __init__(self, names, *arguments):
        super().__init__(*arguments)
        self.names = names

    def getTestsInDirectory(self, testSuite, path_in_suite, litConfig, localConfig):
        yield from super().getTestsInDirectory(testSuite, path_in_suite, litConfig, localConfig)
        for name in self.names:
            yield CudaTest(testSuite, path_in_suite + (name,), localConfig)


def substitute(config, plain=""):
    """Makes the substitutions of CUDA's tests those for HIP. \p plain: more options of %cuda_cc_plain."""
    found = dict(config.substitutions)
    as_cuda = "-I%s -I%s --include=cuda_runtime.h --offload-arch=gfx90a " % (
        os.path.join(os.path.dirname(__file__), "Inputs"),
        os.path.join(config.mneme_src_root, "include"),
    )
    substitutions = {
        "%gpu_kind": "hip",
        "%other_gpu": "gfx942",
        "%emulated_gpu": found["%emulated_amd"],
        "%emulated_static_libs": "",
        "%mneme_deploy": found["%mneme_deploy_hip"],
        "%cuda_cc_plain": found["%hip_cc"].partition("-fpass-plugin")[0] + as_cuda + plain,
        "%cuda_cc_static": found["%hip_cc"] + " " + as_cuda + found["%hip_libs"],
        "%cuda_cc": found["%hip_cc"] + " " + as_cuda + found["%hip_libs"],
    }
    # The first match counts.
    config.substitutions = list(substitutions.items()) + config.substitutions
