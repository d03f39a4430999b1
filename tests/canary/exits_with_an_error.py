"""A script that says that it has failed, by its exit code alone."""
import sys

print("PASS the first", flush=True)
sys.exit(3)
