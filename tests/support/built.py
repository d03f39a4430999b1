"""Where checks find what was built: in a build (GPUORCH_BUILD), or in a folder that tests/bundle made (GPUORCH_BUNDLE), for
a machine that has no compiler."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUNDLE = pathlib.Path(os.environ["GPUORCH_BUNDLE"]) if "GPUORCH_BUNDLE" in os.environ else None
BUILD = BUNDLE or pathlib.Path(os.environ["GPUORCH_BUILD"])
LIBRARIES = BUNDLE / "lib" if BUNDLE else BUILD / "libgpuorch"
NVTX_TOOL = BUILD / "tests/fake_tools/gpuorch_fake_nvtx.so"
ABI = BUNDLE / "share/gpuorch/abi.json" if BUNDLE else ROOT / "libgpuorch/abi.json"


def library_path(*folders):
    """LD_LIBRARY_PATH that leads to these folders first. A bundle's C++ runtime may be on it already."""
    rest = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
    return ":".join([*map(str, folders), *rest])


def c_program(source, folder, *options):
    """A program of one C file that uses libgpuorch, put into `folder`: compiled, or the bundle's."""
    program = pathlib.Path(folder) / source.stem
    if BUNDLE:
        shutil.copy(BUNDLE / "bin" / source.stem, program)
    else:
        subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O2", f"-I{ROOT}/libgpuorch/include", *options, "-o",
                        program, source, f"-L{LIBRARIES}", "-lgpuorch", "-lm"], check=True)
    return program


def cpp_program(source, folder, *options):
    """The same of one C++ file."""
    program = pathlib.Path(folder) / source.stem
    if BUNDLE:
        shutil.copy(BUNDLE / "cpp" / source.stem, program)
    else:
        subprocess.run([*os.environ.get("CXX", "c++").split(), "-std=c++17", "-O2", f"-I{ROOT}/libgpuorch/include", *options,
                        "-o", program, source, f"-L{LIBRARIES}", "-lgpuorch"], check=True)
    return program


def device_name():
    """As programs are told the name of the device that GPUORCH_DEVICE chooses."""
    if os.environ.get("GPUORCH_DEVICE") == "soft":
        return "gpuorch software GPU"
    ask = "import gpuorch; gpo = gpuorch.Library(); print(gpo.device_get_properties(gpo.device_open(gpo.runtime_create())).name.decode())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python/ctypes"), "GPUORCH_LIBRARY": str(LIBRARIES / "libgpuorch.so.0.1")}
    return subprocess.run([sys.executable, "-c", ask], env=environment, check=True, capture_output=True, text=True).stdout.strip()
