/* template.h: shared by templates (template.c), graphs (graph.c), and recipes (recipe.c), which note work put on a
 * stream in a recording, and added nodes.
 *
 * A *recipe* is Lua's knowledge of a recording beyond C's: the kernel of each node, for the types of its arguments, and
 * the types of parameters. A recipe keeps the arrays and queues of the nodes, and holds their memory even after they
 * are closed. A template and its graphs share recipes, which count their users.
 */
#ifndef GPUORCH_LUA_TEMPLATE_H
#define GPUORCH_LUA_TEMPLATE_H

#include "binding.h"

#pragma GCC visibility push(hidden)

enum { TEMPLATE_RECIPE = 2, TEMPLATE_RECORDING, TEMPLATE_STREAM };
enum { GRAPH_RECIPE = 2, GRAPH_VALUES, GRAPH_STREAM };

typedef struct template_object {
    object base;
    int number;                  /* by which callbacks find the template */
    int recording;
    int outer;                   /* s->recorder before it was recorded */
    int graphs;                  /* number of live graphs; after closing, they may still be updated to the recipe */
    int body;                    /* of a conditional node: its recipe is part of its parent's */
    const stream_object *marked; /* stream on which all arrays of the recipe are noted as used; referenced */
} template_object;

typedef struct graph_object {
    object base;
    const stream_object *marked; /* stream on which the arrays of recipe and values are noted as used; referenced */
} graph_object;

/* --- recipe.c --- */

/* Fields of a recipe, a table. USERS: number of users. NODES: by node, the kernel or the type of a fill's value. TYPES:
 * by name, the type of a parameter. NUMBERS: by number, the name of a parameter, for all recipes of a template. ARRAYS:
 * as keys, the arrays. WAITING: as keys, the arrays closed during the recording, whose free behind their streams would
 * have spoilt the recording. QUEUES: as keys, the queues. */
enum { RECIPE_USERS = 1, RECIPE_NODES, RECIPE_TYPES, RECIPE_NUMBERS, RECIPE_ARRAYS, RECIPE_WAITING, RECIPE_QUEUES };

void push_first_recipe(lua_State *L);                   /* with one user */
void push_next_recipe(lua_State *L, int template_index);
void push_body_recipe(lua_State *L, int recipe);        /* for a body of a node of `recipe` */
void share_recipe(lua_State *L, int recipe);
void release_recipe(lua_State *L, state *s, int recipe);
void push_recipe(lua_State *L, int template_index); /* the recipe for new nodes */
void hold_array(lua_State *L, state *s, int recipe, int array_index);
void hold_queue(lua_State *L, int recipe, int queue_index);
void hold_all_of(lua_State *L, state *s, int recipe, int other);
void begin_recording(state *s, template_object *t, stream_object *stream);
/* Once C has ended the recording. `taken`: its recipe is the template's from now on. */
void stop_recording(lua_State *L, state *s, template_object *t, int index, int taken);
void replace_recipe(lua_State *L, state *s, int index, int slot, int recipe);
/* Before a launch: the arrays that are the keys of the table, or its values, are used on the stream. */
void use_arrays(lua_State *L, state *s, int arrays, int keys, int stream_index, stream_object *stream);
/* The nodes at `index`, a number, a table of them or nil, as C takes them. */
const uint32_t *check_after(lua_State *L, int index, uint32_t *one, uint32_t *count);
void note_node(lua_State *L, int recipe, uint32_t node); /* pops what the node is made of */
/* The result of adding a node: its number. */
int added(lua_State *L, state *s, gpo_status status, const uint32_t *node);

/* --- template.c --- */

/* Pushes a template without a handle, made from the object at 1, with the recipe at `recipe`. */
template_object *new_template(lua_State *L, state *s, int recipe);

/* --- parameters.c: values of parameters --- */

enum { PARAMETER_SHAPE = PARAMETER_BYTES + 1, PARAMETER_SWITCH, PARAMETER_PATTERN, PARAMETER_UNKNOWN };
/* The type of a parameter is its kind and size; of a PATTERN the type of its elements is `offset`. */
void push_type(lua_State *L, const parameter *type); /* as a number */
parameter type_at(lua_State *L, int index);          /* PARAMETER_UNKNOWN if it is nil */
/* The name and the type of the parameter at `key`, a name or number; nil, or PARAMETER_UNKNOWN: there is none. */
void push_parameter_name(lua_State *L, int recipe, int key);
parameter type_of(lua_State *L, int recipe, int key);
parameter pattern_type(enum element type);              /* of the value of a fill */
int same_type(const parameter *a, const parameter *b);
/* Reads the settings in the table at `index`, `*count` of them; no table: none. Their pointers lead to the stack or to
 * the table. */
gpo_setting *read_settings(lua_State *L, state *s, int recipe, int index, uint64_t *count);
/* Reads the settings again, by the types of another recipe, from the table at `index` that read_settings has copied. */
void read_settings_again(lua_State *L, state *s, int recipe, int index, gpo_setting *settings, uint64_t count);
/* Before a launch: the arrays among the values of the table at `index` are used on the stream. */
void use_settings(lua_State *L, state *s, int index, int stream_index, stream_object *stream);
/* The value at `index` for the parameter at `key`, a name or number: `bytes` is 0 if the parameter isn't known. */
void read_setting(lua_State *L, state *s, int recipe, int key, int index, gpo_setting *setting, char room[16]);
void push_value(lua_State *L, state *s, const parameter *type, const void *value);

#pragma GCC visibility pop

#endif
