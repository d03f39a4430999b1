#!/usr/bin/env python3
"""The plain part of the crate gpuorch is what generate_safe.py makes of abi.json. What is new in abi.json is in it without a
line by hand: a plain function as a method, a field and a flag of options as setters, a constant as a variant, and a field
that the library fills."""
import copy
import json
import pathlib
import subprocess
import sys

GENERATE = pathlib.Path(__file__).resolve().parents[3] / "bindings/rust/generate"

FUNCTION = {
    "name": "gpo_stream_get_age", "header": "stream.h", "offset": 0, "returns": "gpo_status",
    "says": ["Writes how long ago the stream was made, in `unit`.", "GPO_INVALID_ARGUMENT: `unit` is 0",
             "Blocks on nothing."],
    "parameters": [{"name": "stream", "type": "gpo_stream_t", "direction": "in", "nullable": False},
                   {"name": "unit", "type": "uint32_t", "direction": "in"},
                   {"name": "age", "type": "uint64_t *", "direction": "out", "nullable": False}]}
METHOD = """
    /// Returns how long ago the stream was made, in `unit`.
    ///
    /// - [`ErrorKind::InvalidArgument`]: `unit` is 0.
    ///
    /// Blocks on nothing.
    pub fn age(&self, unit: u32) -> Result<u64> {
        let mut age = 0;
        call!(stream_get_age(self.as_raw(), unit, &mut age))?;
        Ok(age)
    }
"""
WAIT = {
    "name": "gpo_arena_settle", "header": "memory.h", "offset": 0, "returns": "gpo_status",
    "says": ["Waits until no free is pending.", "GPO_TIMEOUT: some still are", "Blocks until the timeout."],
    "parameters": [{"name": "arena", "type": "gpo_arena_t", "direction": "in", "nullable": False},
                   {"name": "timeout_ns", "type": "int64_t", "direction": "in"}]}
WAITS = """
    /// Waits until no free is pending.
    pub fn settle(&self) -> Result<()> {
        call!(arena_settle(self.as_raw(), FOR_EVER))
    }

    /// Like [`Arena::settle`](crate::Arena::settle), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: some still are.
    pub fn settle_for(&self, timeout: Duration) -> Result<()> {
        call!(arena_settle(self.as_raw(), nanoseconds(timeout)))
    }
"""
LIKE = {
    "name": "gpo_arena_trim", "header": "memory.h", "offset": 0, "returns": "gpo_status",
    "says": ["Frees slabs that were not used for `unused_ns`. `count` as in gpo_arena_settle."],
    "parameters": [{"name": "arena", "type": "gpo_arena_t", "direction": "in", "nullable": False},
                   {"name": "unused_ns", "type": "uint64_t", "direction": "in"},
                   {"name": "count", "type": "uint64_t *", "direction": "out", "nullable": True}]}
LIKENESS = """
    /// Frees slabs that were not used for `unused`. The value is as in [`Arena::settle`](crate::Arena::settle).
    pub fn trim(&self, unused: Duration) -> Result<u64> {
        let mut count = 0;
        call!(arena_trim(self.as_raw(), nanoseconds_from(unused), &mut count))?;
        Ok(count)
    }
"""
FIELDS = {
    "gpo_arena_options": [{"name": "spare_slabs", "type": "uint32_t", "says": "slabs that are kept; GPO_AUTO: 2"},
                          {"name": "zone", "type": "const char *", "says": "where slabs are; NULL: anywhere"}],
    "gpo_scheduler_options": [{"name": "pause_ns", "type": "uint64_t", "says": "between two steps"}],
    "gpo_stream_info": [{"name": "age", "type": "uint64_t", "says": "in seconds"}]}
SETTERS = ["""
    /// Sets `spare_slabs`: slabs that are kept; by default 2.
    pub fn spare_slabs(mut self, spare_slabs: u32) -> Self {
        self.options.spare_slabs = spare_slabs;
        self
    }
""", """
    /// Sets `zone`: where slabs are; by default anywhere.
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.options.zone = self.options.text("zone", zone.into());
        self
    }
""", """
    /// Sets `pause`: between two steps.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.options.pause_ns = nanoseconds_from(pause);
        self
    }
"""]
FLAG = {"name": "GPO_EVENT_QUIET", "value": 16, "says": "the log has no line of it"}
FLAG_SETTER = """
    /// The log has no line of it.
    pub fn quiet(mut self) -> Self {
        self.options.flags |= sys::GPO_EVENT_QUIET;
        self
    }
"""
LIMIT = {"name": "GPO_LIMIT_SPILL_BYTES", "value": 7, "says": "registers that are spilled"}
VARIANT = """
        /// Registers that are spilled.
        Spill = GPO_LIMIT_SPILL_BYTES,
"""
# Arguments of the functions that make the object.
WITHOUT_BUILDER = {"gpo_cq_options", "gpo_tenant_options", "gpo_timeline_options"}


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}")


def needless(generate_safe, abi):
    """The names in the generator's tables of what is by hand without which nothing more would be made."""
    names, figures = generate_safe.names, generate_safe.figures(abi)
    by_hand = names.FUNCTIONS_BY_HAND
    for function in abi["functions"]:
        names.FUNCTIONS_BY_HAND = by_hand - {function["name"]}
        try:
            generate_safe.Method(function, figures)
        except ValueError:
            if function["name"] in by_hand:
                yield function["name"]
    names.FUNCTIONS_BY_HAND = by_hand
    yield from sorted(by_hand - {function["name"] for function in abi["functions"]})
    for struct, fields in names.SETTERS_BY_HAND.items():
        made = generate_safe.Setters(next(one for one in abi["structs"] if one["name"] == struct), abi["constants"])
        made.by_hand = set()
        yield from sorted(fields - {place for place, *_ in made.made()})


def with_parameter(generate_safe, abi, name):
    """The text that is made if a new function has a parameter of that name."""
    function = copy.deepcopy(FUNCTION)
    function["parameters"][1]["name"] = name
    return generate_safe.text({**abi, "functions": [*abi["functions"], function]})


def lacking(made, before, *wanted):
    """What isn't in the text that was made, or was in it before."""
    return next((text for text in wanted if text not in made or text in before), "")


def main():
    if not GENERATE.is_dir():
        print("SKIP the plain part of gpuorch is made from abi.json: a bundle has no sources")
        return
    outcome = subprocess.run([sys.executable, GENERATE / "generate_safe.py", "--check"], capture_output=True, text=True)
    check("the plain part of gpuorch is made from abi.json as it is", outcome.stderr.strip())
    sys.path.insert(0, str(GENERATE))
    import generate_safe
    abi = json.loads(generate_safe.ABI.read_text())
    before, newer = generate_safe.text(abi), copy.deepcopy(abi)
    newer["functions"] += [FUNCTION, WAIT, LIKE]
    newer["constants"] += [FLAG, LIMIT]
    for struct in newer["structs"]:
        struct["fields"] += FIELDS.get(struct["name"], [])
    made = generate_safe.text(newer)
    check("a new plain function is a method, with its documentation", lacking(made, before, METHOD, WAITS))
    check("a time that a function takes is a Duration, and what it writes is the method's value", lacking(made, before, LIKENESS))
    check("no text speaks of NULL", "\n".join(line for line in made.split("\n") if "NULL" in line))
    check("a new field of options is a setter, with its documentation", lacking(made, before, *SETTERS))
    check("a new flag of options is a setter, with its documentation", lacking(made, before, FLAG_SETTER))
    check("a new constant is a variant, with its documentation", lacking(made, before, VARIANT))
    check("a new field that the library fills is documented", lacking(made, before, "    /// - `age`: in seconds.\n"))
    check("names of what is by hand are needed", " ".join(needless(generate_safe, abi)))
    options = {struct["name"] for struct in abi["structs"] if struct["name"].endswith("_options")}
    check("every struct of options has a builder", " ".join(options - set(generate_safe.BUILDERS) - WITHOUT_BUILDER))
    check("a function that takes an address is left to be written by hand", " ".join(
        name for name in ("address", "host_address", "base_address") if with_parameter(generate_safe, abi, name) != before))


main()
