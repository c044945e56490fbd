from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="scale_ext", ext_modules=[CUDAExtension("scale_ext", ["scale.cu"])], cmdclass={"build_ext": BuildExtension})
