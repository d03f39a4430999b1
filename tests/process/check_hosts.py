#!/usr/bin/env python3
"""Groups of processes on two hosts that mpirun starts: the hosts are network namespaces, each with a name of its own, joined by a
pair of virtual interfaces. Needs Open MPI, ip (Debian's iproute2) and the right to make namespaces."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built
import machine

OURS, THEIRS = "10.77.0.1", "10.77.0.2"
# Over TCP alone: else processes of one kernel find each other by its shared memory.
NETWORK = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24",
           "OMPI_MCA_oob_tcp_if_include": "10.77.0.0/24", "PRTE_MCA_prte_if_include": "10.77.0.0/24"}
SCENARIOS = {"collectives": "all kinds of collectives", "disagree": "ranks that disagree", "leaves": "a rank that leaves",
             "late": "a rank that comes too late"}
NAME = "two hosts: {}"
IN_NAMESPACE = "GPUORCH_TEST_IN_NAMESPACE"


def skip(why):
    print(f"SKIP process/hosts: {why}")
    sys.exit(0)


def inside():
    """In the namespaces of one host: makes the other, and runs what there is on both."""
    subprocess.run(["hostname", "host-a"], check=True)
    # The other host lasts until its input ends, at the latest with this process.
    other = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", "hostname host-b && echo there && exec cat"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        other.stdout.readline()
        there = ["nsenter", "--target", str(other.pid), "--net", "--uts"]
        for command in (["ip", "link", "add", "to-b", "type", "veth", "peer", "name", "to-a", "netns", str(other.pid)],
                        ["ip", "address", "add", f"{OURS}/24", "dev", "to-b"], ["ip", "link", "set", "to-b", "up"],
                        ["ip", "link", "set", "lo", "up"],
                        [*there, "ip", "address", "add", f"{THEIRS}/24", "dev", "to-a"],
                        [*there, "ip", "link", "set", "to-a", "up"], [*there, "ip", "link", "set", "lo", "up"]):
            made = subprocess.run(command, text=True, capture_output=True)
            if made.returncode != 0:
                skip(f"there can be no second host: {' '.join(command)}: {made.stderr.strip()}")
        with tempfile.TemporaryDirectory() as folder:
            agent = pathlib.Path(folder, "agent")   # in place of ssh: the host's name, and what is to be run there
            agent.write_text(f"#!/bin/sh\nshift\nexec {' '.join(there)} sh -c \"$*\"\n")
            agent.chmod(0o755)
            for scenario, what in SCENARIOS.items():
                told = pathlib.Path(folder, scenario)   # what ranks tell each other beside the group
                told.mkdir()
                run(scenario, what, {**NETWORK, **{name: str(agent) for name in machine.MPIRUN_ENVIRONMENT},
                                     "GPUORCH_TEST_TOLD": str(told)})
    finally:
        other.kill()
        other.wait()


def run(scenario, what, settings):
    command = [*machine.mpirun(4), "--host", f"{OURS}:2,{THEIRS}:2", built.BUILD / "tests/process/process_joined", "rank", scenario,
               "mpi", "-", "-"]
    try:
        outcome = subprocess.run(command, env={**os.environ, **settings, "GPUORCH_DEVICE": "soft"}, text=True, timeout=90,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        code, said = outcome.returncode, outcome.stdout
    except subprocess.TimeoutExpired as late:
        code, said = "no end within 90 s", str(late.stdout)
    print(f"PASS {NAME.format(what)}" if code == 0 else f"{said[-4000:]}\nFAIL {NAME.format(what)}: mpirun ended with {code}", flush=True)


def main():
    if os.environ.get(IN_NAMESPACE):
        return inside()
    if not machine.mpirun(4):
        skip("there is no mpirun of Open MPI")
    new = ["unshare", "--net", "--uts", *(() if os.geteuid() == 0 else ("--user", "--map-root-user"))]
    for needed in ([*new, "true"], ["ip", "-V"], ["hostname"]):
        try:
            tried = subprocess.run(needed, text=True, capture_output=True)
        except OSError:
            skip(f"{needed[0]} isn't installed")
        if tried.returncode != 0:
            skip(f"no namespaces can be made here: {tried.stderr.strip()}")
    ended = subprocess.run([*new, sys.executable, __file__], env={**os.environ, IN_NAMESPACE: "1"}).returncode
    if ended != 0:
        print(f"FAIL {NAME.format('the check ends')}: {ended}")


main()
