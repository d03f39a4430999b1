# Checks which of this machine's programs are suitable. .ci/setup and samples/run source this file, so both choose the same.

# at_least WANTED VERSION
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

cargo_is_new() { at_least 1.85 "$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p')"; }

# lua_will_do INTERPRETER: true if the interpreter and the headers of its version are here.
lua_will_do() {
    number=$("$1" -e 'print((_VERSION:gsub("Lua (%d)%.(%d)", "%10%2")))' 2>/dev/null) || return 1
    # shellcheck disable=SC2046  # flags are words
    printf '#include <lua.h>\n#if LUA_VERSION_NUM != %s\n#error another\n#endif\n' "$number" |
        ${CC:-cc} $(pkg-config --cflags "$1" 2>/dev/null || echo "-I/usr/include/$1") -x c -E -o /dev/null - 2>/dev/null
}
# Prints the interpreter of the newest suitable Lua. False if none is suitable.
find_lua() {
    for lua in lua5.4 lua5.3 lua5.2 lua5.1 lua luajit; do
        ! lua_will_do "$lua" || { echo "$lua"; return; }
    done
    return 1
}

# python_will_do INTERPRETER: true if the interpreter is Python 3.11 or newer, and its headers are here.
python_will_do() {
    "$1" -c 'import os, sys, sysconfig
os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))
sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}
# Prints a Python that modules can be built for. False if none is suitable.
find_python() {
    for python in python3 /usr/bin/python3; do
        ! python_will_do "$python" || { echo "$python"; return; }
    done
    return 1
}
