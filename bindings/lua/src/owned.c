/* owned.c: memory of malloc's that userdata own, and what no shutdown of a runtime releases: queues and their
 * descriptors.
 *
 * A finalizer frees such a block, but a finalizer may never run: if Lua finds no memory to call it, Lua counts it as
 * run and frees the userdata. Therefore each state lists its blocks, and close_state frees the rest. Only the thread
 * that runs the Lua state uses the list. */
#include <stdlib.h>
#include <string.h>

#include "binding.h"

/* Precedes the block. Its size keeps the alignment that malloc gives. */
typedef struct owned {
    _Alignas(max_align_t) struct owned *next;
    struct owned **link;      /* where the list points to this one */
    owned_release release;    /* NULL: the block is memory and no more */
} owned;

static owned *header_of(void *block) { return (owned *)block - 1; }

static void *insert(state *s, owned *o) {
    o->next = s->owned;
    o->link = &s->owned;
    if (o->next) o->next->link = &o->next;
    s->owned = o;
    return o + 1;
}

void *owned_make(state *s, size_t bytes, owned_release release) {
    if (bytes > SIZE_MAX - sizeof(owned)) return NULL;
    owned *o = calloc(1, sizeof *o + bytes);
    if (!o) return NULL;
    o->release = release;
    return insert(s, o);
}

void *owned_resize(state *s, void *block, size_t bytes) {
    if (bytes > SIZE_MAX - sizeof(owned)) return NULL;
    owned *o = realloc(block ? header_of(block) : NULL, sizeof *o + bytes);
    if (!o) return NULL;
    if (!block) {
        o->release = NULL;
        return insert(s, o);
    }
    *o->link = o;
    if (o->next) o->next->link = &o->next;
    return o + 1;
}

char *owned_text(state *s, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = owned_resize(s, NULL, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void owned_free(state *s, void *block) {
    if (!block || !s->bridge) return; /* after the state was closed, all blocks are freed already */
    owned *o = header_of(block);
    *o->link = o->next;
    if (o->next) o->next->link = o->link;
    if (o->release) o->release(s, block);
    free(o);
}

void owned_free_all(state *s) {
    while (s->owned) owned_free(s, s->owned + 1);
}
