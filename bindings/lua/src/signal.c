/* signal.c: signals that end waits as Ctrl-C does. */
#include <signal.h>
#include <stddef.h>

#include "binding.h"

static volatile sig_atomic_t newest; /* 0: none came */

/* Runs once; then the signal has its default action again. Interpreters handle SIGINT while a script runs, but not with
 * nothing to end, or after an earlier Ctrl-C. */
static void as_interrupt(int number) {
    struct sigaction interrupt;
    newest = number;
    const int handled = sigaction(SIGINT, NULL, &interrupt) == 0 && interrupt.sa_handler != SIG_DFL &&
                        interrupt.sa_handler != SIG_IGN;
    raise(handled ? SIGINT : number);
}

static int newest_signal(lua_State *L) {
    if (newest == 0) return 0;
    lua_pushinteger(L, newest);
    return 1;
}

/* interrupt_on("HUP", "TERM", ...): returns a function that returns the number of the newest such signal, or nil. */
int interrupt_on(lua_State *L) {
    static const char *const names[] = {"HUP", "TERM", "QUIT", NULL};
    static const int numbers[] = {SIGHUP, SIGTERM, SIGQUIT};
    const int count = lua_gettop(L);
    for (int i = 1; i <= count; ++i) check_word(L, i, NULL, names);
    for (int i = 1; i <= count; ++i) {
        const int number = numbers[check_word(L, i, NULL, names)];
        struct sigaction before, ours = {.sa_handler = as_interrupt, .sa_flags = SA_RESETHAND};
        sigemptyset(&ours.sa_mask);
        /* An ignored signal, such as SIGHUP under nohup, stays ignored. */
        if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(number, &ours, NULL);
    }
    lua_pushcfunction(L, newest_signal);
    return 1;
}
