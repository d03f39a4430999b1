// Scenarios of graph templates: built node by node, recorded from streams, launched.
#pragma once

#include "faults/attempt.h"

namespace gpo::test {

/// A template of nodes of every kind with another as its child, its parameters, and graphs with values.
void built_templates(Attempt& a);
/// Recordings of two streams, which succeed completely or have no effect, and updates of graphs after a new recording.
void recorded_templates(Attempt& a);
/// A template with a loop, made anew without the loop while a launch is held.
void templates_made_anew(Attempt& a);
/// Launches of templates on two streams, and launches that are held and outlive their handles.
void launched_templates(Attempt& a);
/// Traced launches of templates that are destroyed before their times are known, and pictures.
void traced_templates(Attempt& a);
/// A copy of a template's graph as a template of its own.
void imported_templates(Attempt& a);
/// Host nodes that call the library: what needs the driver is refused, and a signal releases a held stream.
void calling_host_nodes(Attempt& a);
/// Events that launches record, held launches among them, and events as nodes of a recording.
void launched_events(Attempt& a);
/// Memory that a template owns, and to which another template holds a reference.
void template_memory(Attempt& a);
/// Nodes that allocate and free memory, and nodes between them that use it.
void allocating_templates(Attempt& a);
/// Conditional nodes with bodies, several graphs of them, and a graph that kernels may launch.
void conditional_templates(Attempt& a);
/// Buckets with a warm-up that spoils memory, which is restored, and eager runs where recording fails.
void restored_buckets(Attempt& a);

}  // namespace gpo::test
