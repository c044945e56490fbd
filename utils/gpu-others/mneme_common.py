"""What all programs of gpu-others.py import first: the hook of MNEME_HOOK, and how they print results."""
import atexit
import faulthandler
import hashlib
import importlib
import os
import site
import sys

faulthandler.enable()
if os.path.isdir(os.environ.get("MNEME_PACKAGES", "")):
    site.addsitedir(os.environ["MNEME_PACKAGES"])
loaded = {}


def _on_load(module, function, name, metadata_group, hash):
    loaded[hash] = name


def _print_loaded():
    for hash, name in loaded.items():
        print("loaded", hash[:16], name)


hook = os.environ.get("MNEME_HOOK")
if hook:
    print("hook", importlib.import_module("llvm_mneme." + hook).register.is_recording())
if hook == "triton":
    try:
        from triton import knobs

        knobs.runtime.kernel_load_end_hook.add(_on_load)
        atexit.register(_print_loaded)
    except (ImportError, AttributeError) as e:
        print("no hook of Triton:", e, file=sys.stderr)


def result(*tensors):
    """Prints a digest of the bytes of tensors or arrays, and their sum for a person to look at."""
    digest, total = hashlib.sha256(), 0.0
    for tensor in tensors:
        if hasattr(tensor, "detach"):
            tensor = tensor.detach().float().cpu().numpy()
        elif hasattr(tensor, "get"):
            tensor = tensor.get()
        digest.update(tensor.tobytes())
        total += float(tensor.astype("float64").sum())
    print("result", digest.hexdigest()[:16], total, flush=True)
