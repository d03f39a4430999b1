#!/usr/bin/env python3
"""Makes the images of another device from triple.ptx with nvcc's tools: make_images.py FOLDER-OF-NVCC [OUTPUT-FOLDER].

triple.sm_75.cubin is code for devices of compute capability 7.5 to 7.9 alone. triple.fatbin has it beside the PTX, which any newer
device's driver can translate. triple.sm_75.fatbin has no PTX. They are committed: machines that test have no nvcc.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    tools = pathlib.Path(sys.argv[1]).resolve()
    output = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else HERE

    def run(tool, *arguments):
        subprocess.run([tools / tool, *arguments], cwd=HERE, check=True)

    cubin = output / "triple.sm_75.cubin"
    run("ptxas", "-arch=sm_75", "-o", cubin, "triple.ptx")
    code, text = f"--image3=kind=elf,sm=75,file={cubin}", "--image3=kind=ptx,sm=75,file=triple.ptx"
    run("fatbinary", "-64", f"--create={output / 'triple.fatbin'}", code, text)
    run("fatbinary", "-64", f"--create={output / 'triple.sm_75.fatbin'}", code)


if __name__ == "__main__":
    main()
