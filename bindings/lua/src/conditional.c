/* conditional.c: nodes of templates that decide on the GPU what is run. The bodies are templates; their recipes are
 * part of the recipe of the node's template. */
#include "calls.h"
#include "template.h"

/* The arguments of a conditional node. */
typedef struct conditional {
    gpo_template_t in;
    uint32_t one, after_count;
    const uint32_t *after;
    gpo_condition condition;
    int word, recipe; /* where they are on the stack */
} conditional;

/* From (after, condition), where condition.word is an array or an address. Leaves all that on the stack. */
static void check_conditional(lua_State *L, state *s, conditional *c) {
    *c = (conditional){.in = CHECK_HANDLE(1, template), .condition = {.struct_size = sizeof c->condition}};
    c->after = check_after(L, 2, &c->one, &c->after_count);
    luaL_checktype(L, 3, LUA_TTABLE);
    read_record(L, 3, gpo_condition_fields, &c->condition);
    push_recipe(L, 1);
    c->recipe = lua_gettop(L);
    lua_getfield(L, 3, "word");
    c->word = lua_gettop(L);
    read_memory(L, s, c->word, "word", &c->condition.word);
}

/* Pushes a body, whose handle is yet to come. */
static gpo_template_t *push_body(lua_State *L, state *s, const conditional *c) {
    push_body_recipe(L, c->recipe);
    template_object *body = new_template(L, s, lua_gettop(L));
    lua_remove(L, -2);
    body->body = 1;
    return (gpo_template_t *)&body->base.handle;
}

/* Pushes the node, below the `results` - 1 values on top that are its bodies; or the failure. */
static int conditional_added(lua_State *L, state *s, const conditional *c, gpo_status status, uint32_t node,
                             int results) {
    if (status != GPO_SUCCESS) return failure(L, s, status);
    hold_array(L, s, c->recipe, c->word);
    push_unsigned(L, node);
    lua_insert(L, -results);
    return results;
}

/* add_if(after, condition [, with_otherwise]): the node, its body and, if wanted, what is run otherwise. */
int template_add_if(lua_State *L) {
    state *s = the_state(L);
    conditional c;
    uint32_t node = 0;
    lua_settop(L, 4);
    const int both = lua_toboolean(L, 4);
    check_conditional(L, s, &c);
    gpo_template_t *body = push_body(L, s, &c), *otherwise = both ? push_body(L, s, &c) : NULL;
    const gpo_status status =
        s->api->template_add_if(c.in, c.after, c.after_count, &c.condition, body, otherwise, &node);
    return conditional_added(L, s, &c, status, node, both ? 3 : 2);
}

/* add_while(after, condition): the node and its body. */
int template_add_while(lua_State *L) {
    state *s = the_state(L);
    conditional c;
    uint32_t node = 0;
    lua_settop(L, 3);
    check_conditional(L, s, &c);
    gpo_template_t *body = push_body(L, s, &c);
    const gpo_status status = s->api->template_add_while(c.in, c.after, c.after_count, &c.condition, body, &node);
    return conditional_added(L, s, &c, status, node, 2);
}

enum { MOST_BODIES = 1024 };

/* add_switch(after, condition, count): the node and a table of its bodies. The word 0 selects the first body. */
int template_add_switch(lua_State *L) {
    state *s = the_state(L);
    conditional c;
    uint32_t node = 0;
    lua_settop(L, 4);
    check_conditional(L, s, &c);
    const uint32_t count = (uint32_t)check_unsigned(L, 4, MOST_BODIES);
    gpo_template_t *handles = lua_newuserdata(L, sizeof *handles * (count + 1));
    lua_createtable(L, (int)count, 0);
    const int bodies = lua_gettop(L);
    for (uint32_t i = 1; i <= count; ++i) {
        push_body(L, s, &c);
        lua_rawseti(L, bodies, (int)i);
    }
    const gpo_status status =
        s->api->template_add_switch(c.in, c.after, c.after_count, &c.condition, handles, count, &node);
    for (uint32_t i = 1; status == GPO_SUCCESS && i <= count; ++i) {
        lua_rawgeti(L, bodies, (int)i);
        ((object *)lua_touserdata(L, -1))->handle = handles[i - 1];
        lua_pop(L, 1);
    }
    return conditional_added(L, s, &c, status, node, 2);
}
