"""Which of several things this machine has. `machine.py clang` prints the name of a Clang for C++ and fails where there is none."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

LOOK = pathlib.Path(__file__).resolve().parents[2] / ".ci/look.sh"


def major(clang):
    """The version of a Clang, 0 where that can't be run."""
    try:
        said = subprocess.run([clang, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    found = re.search(r"clang version (\d+)", said)
    return int(found[1]) if found else 0


def clang():
    """A Clang for C++, 14 or newer: clang++, else the newest clang++-N. None where there is none."""
    numbered = {name for folder in os.get_exec_path() if os.path.isdir(folder) for name in os.listdir(folder)
                if re.fullmatch(r"clang\+\+-\d+", name)}
    for name in ["clang++", *sorted(numbered, key=lambda name: -int(name.split("-")[1]))]:
        if major(name) >= 14:
            return name
    return None


def clang_for_c():
    return clang().replace("++", "")


def look(call):
    """A call of .ci/look.sh: what it prints, or None where it says no."""
    outcome = subprocess.run(["sh", "-c", f'. "$1"; {call}', "sh", LOOK], capture_output=True, text=True)
    return outcome.stdout.strip() if outcome.returncode == 0 else None


def lua():
    """The newest Lua whose headers are here, as .ci/setup and samples/run take it. None where there is none."""
    return look("find_lua")


def lua_lacks(interpreter):
    """Why nothing can be built for that Lua, or None."""
    if not shutil.which(interpreter):
        return "it isn't installed"
    return None if look(f"lua_will_do {interpreter}") is not None else "its headers aren't installed"


# Without these mpirun looks for ssh, though all processes are on this machine: releases 4 and 5 of Open MPI.
MPIRUN_ENVIRONMENT = {"OMPI_MCA_plm_rsh_agent": "sh", "PRTE_MCA_plm_ssh_agent": "sh"}


def mpirun(ranks):
    """What starts a program as so many processes of Open MPI, as words, in an environment with the above. None where there is no
    Open MPI."""
    for name in ("mpirun.openmpi", "mpirun"):
        try:
            said = subprocess.run([name, "--version"], capture_output=True, text=True).stdout
        except OSError:
            continue
        if "Open MPI" in said:
            return [name, "-np", str(ranks), "--oversubscribe", "--allow-run-as-root"]
    return None


if __name__ == "__main__":
    if sys.argv[1:] != ["clang"] or not clang():
        sys.exit(1)
    print(clang())
