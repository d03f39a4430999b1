#!/usr/bin/env python3
"""Each public C header compiles alone, twice in a row, as C11 and as C++17, without a warning, and so do gpuorch.hpp,
options.hpp and the files of cpp as C++17. By Clang too with --full. (asio.hpp needs an Asio: loops/check_loops.py.)"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "libgpuorch" / "include"
PUBLIC = INCLUDE / "gpuorch"
sys.path.append(str(ROOT / "tests/support"))
import machine

LANGUAGES = {"C11": ("cc", ".c", "-std=c11"), "C++17": ("c++", ".cpp", "-std=c++17")}


def main():
    clang = None
    if "--full" in sys.argv:
        if machine.clang():
            clang = {"C11": machine.clang_for_c(), "C++17": machine.clang()}
        else:
            print("SKIP the headers with Clang: there is no Clang from 14 here")
    with tempfile.TemporaryDirectory() as folder:
        for header in [*sorted(PUBLIC.glob("*.h")), PUBLIC / "gpuorch.hpp", PUBLIC / "options.hpp",
                       *sorted(PUBLIC.glob("cpp/*.hpp"))]:
            for language, (gcc, suffix, standard) in LANGUAGES.items():
                if header.suffix == ".hpp" and language == "C11":
                    continue
                source = pathlib.Path(folder) / f"alone{suffix}"
                source.write_text(f"#include <{header.relative_to(INCLUDE)}>\n" * 2 + "int main(void) { return 0; }\n")
                for compiler in [gcc, clang[language]] if clang else [gcc]:
                    name = f"{header.relative_to(PUBLIC)} as {language}" + (" with Clang" if compiler != gcc else "")
                    result = subprocess.run(
                        [compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                         "-I", INCLUDE, source], capture_output=True, text=True)
                    print(f"PASS {name}" if result.returncode == 0 else
                          f"FAIL {name}: {(result.stderr.splitlines() or ['?'])[0]}\n{result.stderr}")


main()
