"""run_script.py WORD SCRIPT [ARGUMENT]...   runs a script, then prints `END WORD`: only where the script came to its end, and
did not leave its process before."""
import pathlib
import runpy
import sys

word, script, *arguments = sys.argv[1:]
sys.argv = [script, *arguments]
sys.path[0] = str(pathlib.Path(script).parent)
try:
    runpy.run_path(script, run_name="__main__")
except SystemExit as left:
    if left.code not in (None, 0):
        raise
print(f"END {word}", flush=True)
