// Launches of kernels and graphs by kernels, in the software GPU's compiler: rewriting, refusals, and notes about the
// kernels. machine/children_test.cpp and conformance test how children run.
#include <algorithm>
#include <string>

#include "softgpu/compiler/lexer.h"
#include "softgpu/compiler/token_pass.h"
#include "unit/softgpu/kernel_device.h"

using namespace gpo::softgpu;

namespace {

std::string rewrite_launches(const std::string& source, bool allowed = true) {
    PassOptions options;
    options.launches = allowed;
    return rewrite_kernels("# 1 \"k.cu\"\n" + source, options).text;
}

/// The body of a kernel with this statement.
std::string rewrite_statement(const std::string& statement) {
    return rewrite_launches(
        "namespace n { template <class T> __global__ void each(T* p, int i); }\n"
        "__global__ void one(int* p);\n"
        "__global__ void parent(int* p, int b) { " +
        statement + " }\n");
}

std::string refusal_of(const std::string& source, bool allowed = true) {
    try {
        rewrite_launches(source, allowed);
        return "";
    } catch (const SourceError& error) {
        return error.what();
    }
}

std::string without_blanks(std::string text) {
    std::erase(text, ' ');
    return text;
}

bool has_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

gpo::driver::CompileResult compile_launches(const std::string& source) {
    const auto compiler = make_soft_compiler();
    gpo::driver::CompileRequest request;
    request.source = source;
    request.file_name = "k.cu";
    request.dynamic_parallelism = true;
    return compiler->compile(request);
}

}  // namespace

TEST_CASE("a launch becomes a call of the kernel behind its shape, on the same line") {
    struct Row {
        const char *launch, *call;
    };
    for (const Row& row : {
             Row{"one<<<1, b>>>(p);", "(__gpo_shape(1, b), one (p));"},
             Row{"if (b) one<<<b, 1>>>(p); else ::one<<<1, b + (b >> 3)>>>(p);",
                 "if (b) (__gpo_shape(b, 1), one (p)); else (__gpo_shape(1, b + (b >> 3)), :: one (p));"},
             Row{"n::each<int><<<dim3(1, 2), 3, 4, cudaStreamTailLaunch>>>(p, b);",
                 "(__gpo_shape(dim3(1, 2), 3, 4, cudaStreamTailLaunch), n :: each < int > (p, b));"},
             Row{"n::template each<A<int> ><<<f<g<int>>(), 3>>>(p, (b, 2));",
                 "(__gpo_shape(f<g<int>>(), 3), n :: template each < A < int > > (p, (b, 2)));"},
         }) {
        CAPTURE(row.launch);
        const std::string text = rewrite_statement(row.launch);
        INFO(text);
        CHECK(has_part(without_blanks(text), without_blanks(row.call)));
    }
    const std::string source = "__global__ void one();\n__global__ void two() {\none\n<<<1,\n1>>>\n();\n}\nint last;\n";
    const std::string text = rewrite_launches(source);
    const auto lines_before = [](const std::string& in, const char* what) {
        return std::count(in.begin(), in.begin() + static_cast<ptrdiff_t>(in.rfind(what)), '\n');
    };
    const size_t ours = text.find("# 1 \"k.cu\"\n");
    REQUIRE(ours != std::string::npos);
    CHECK(lines_before(text.substr(ours), "int last") == lines_before("\n" + source, "int last"));
}

TEST_CASE("a launch that isn't one is refused with its line") {
    const std::string kernels = "__global__ void one(int* p);\n";
    CHECK(has_part(refusal_of(kernels + "__global__ void k(int* p) { one<<<1, 1>>>(p); }", false),
                   "k.cu(2): error: a kernel that launches kernels is compiled with the flag "
                   "GPO_COMPILE_DYNAMIC_PARALLELISM"));
    for (const char* statement : {"(*p)<<<1, 1>>>(p);", "p[0]<<<1, 1>>>(p);", "<<<1, 1>>>(p);", "3<<<1, 1>>>(p);"}) {
        CAPTURE(statement);
        CHECK(has_part(refusal_of(kernels + "__global__ void k(int* p) { " + statement + " }"),
                       "k.cu(2): error: what is launched must be named"));
    }
    for (const char* statement : {"one<<<1, 1>>>;", "one<<<1, 1>>(p);", "one<<<1, 1;"}) {
        CAPTURE(statement);
        CHECK(has_part(refusal_of(kernels + "__global__ void k(int* p) { " + statement + " }"),
                       "k.cu(2): error: a launch needs >>>(arguments)"));
    }
    for (const char* call : {"cudaStreamCreateWithFlags(&s, 1)", "cudaEventRecord(e, 0)"}) {
        CAPTURE(call);
        CHECK(has_part(refusal_of("__global__ void k() {\n" + std::string(call) + "; }"),
                       "k.cu(2): error: " + std::string(call).substr(0, std::string(call).find('('))));
    }
    CHECK(has_part(refusal_of("__global__ void k() { cudaDeviceSynchronize(); }"), "cudaStreamTailLaunch"));
}

TEST_CASE("kernels that may launch are told apart, and a child that waits makes no parent wait") {
    const auto result = compile_launches(R"(
__global__ void waits(int* p) { __shared__ int s; if (threadIdx.x == 0) s = *p; __syncthreads(); p[threadIdx.x] = s; }
__device__ void start(int* p) { waits<<<1, 32>>>(p); }
extern "C" __global__ void direct(int* p) { waits<<<1, 32>>>(p); }
extern "C" __global__ void through_function(int* p) { if (p) start(p); }
extern "C" __global__ void neither(int* p) { *p = 1; }
)");
    INFO(result.log);
    REQUIRE(result.ok);
    std::unique_ptr<Image> image;
    std::string log;
    REQUIRE(Image::load(result.image.data(), result.image.size(), &log, &image) == CUDA_SUCCESS);
    unsigned seen = 0;
    for (const gpo_soft_kernel& kernel : image->kernels()) {
        const std::string name = kernel.name;
        CAPTURE(name);
        const bool launches = name == "direct" || name == "through_function", waits = has_part(name, "waits");
        CHECK(((kernel.flags & GPO_SOFT_KERNEL_LAUNCHES) != 0) == launches);
        CHECK(((kernel.flags & GPO_SOFT_KERNEL_WAITS) != 0) == waits);
        ++seen;
    }
    CHECK(seen == 4);
}

TEST_CASE("a launch with the wrong arguments is the compiler's error, at its line") {
    const auto result = compile_launches(
        "__global__ void one(int* p, int i);\n"
        "__global__ void parent(int* p) {\n"
        "    one<<<1, 1>>>(p);\n"
        "}\n");
    CHECK_FALSE(result.ok);
    CHECK(has_part(result.log, "k.cu:3:"));
}

namespace {

/// Whether the pass notes that kernel `go` launches graphs. `before`: source in front of the kernel.
bool launches_graphs(const std::string& body, const std::string& before = "") {
    const std::string graph_header =
        "# 1 \"graph.cuh\" 1 3\n"
        "typedef struct S* cudaGraphExec_t; namespace gpo { struct device_graph { unsigned long long graph; };\n"
        "static inline int launch_on(device_graph g) { return cudaGraphLaunch((cudaGraphExec_t)g.graph, 0); }\n"
        "static inline int launch_tail(device_graph g) { return launch_on(g); }\n"
        "static inline void set_condition(unsigned long long c, unsigned v) { cudaGraphSetConditional(c, v); } }\n"
        "# 2 \"k.cu\" 2\n";
    const std::string text = rewrite_kernels("# 1 \"k.cu\"\n" + graph_header + before +
                                                 "\n__global__ void go(gpo::device_graph g, int* p) { " + body + " }\n",
                                             {})
                                 .text;
    const std::string made = "__gpo_run_block<__gpo_tag, ";
    const size_t kernel = text.find("void go("), flags = text.find(made, kernel);
    REQUIRE(flags != std::string::npos);
    return (std::stoi(text.substr(flags + made.size())) & 32) != 0;
}

}  // namespace

TEST_CASE("kernels that launch graphs are found by what they call, however deep, and by nothing else") {
    CHECK(launches_graphs("gpo::launch_tail(g);"));
    CHECK(launches_graphs("if (*p) *p = gpo::launch_fire_and_forget(g);"));
    CHECK(launches_graphs("gpo::launch_sibling(g); gpo::relaunch_self();"));
    CHECK(launches_graphs("*p = cudaGraphLaunch((cudaGraphExec_t)g.graph, 0);"));
    CHECK(launches_graphs("*p = ::cudaGraphLaunch((cudaGraphExec_t)g.graph, 0);"));
    CHECK(launches_graphs("using namespace gpo; launch_tail(g);"));
    CHECK(launches_graphs("const auto next = [&] { gpo::launch_tail(g); }; next();"));
    CHECK(launches_graphs("first(g);", "__device__ void second(gpo::device_graph g) { gpo::launch_tail(g); }\n"
                                       "__device__ void first(gpo::device_graph g) { second(g); }"));
    CHECK(launches_graphs("each<second>(g);",
                          "__device__ void second(gpo::device_graph g) { gpo::launch_tail(g); }\n"
                          "template <auto F> __device__ void each(gpo::device_graph g) { F(g); }"));

    CHECK_FALSE(launches_graphs("*p = 1;"));
    CHECK_FALSE(launches_graphs("gpo::set_condition(1, *p);"));
    CHECK_FALSE(launches_graphs("*p = gpo::current_graph() != 0;"));
    // Launches in another kernel, in a function without calls, and in an operator that some kernel uses.
    CHECK_FALSE(launches_graphs("*p = 1;", "__global__ void other(gpo::device_graph g) { gpo::launch_tail(g); }"));
    CHECK_FALSE(launches_graphs("*p = 1;", "__device__ void second(gpo::device_graph g) { gpo::launch_tail(g); }"));
    CHECK_FALSE(launches_graphs("*p = 1;",
                                "struct Next { gpo::device_graph g;\n"
                                "__device__ void operator()() { __syncthreads(); gpo::launch_tail(g); } };"));
    // Functions and members of the source's own.
    const std::string own = "struct Queue { __device__ int launch_tail(int n) { return n; } };\n"
                            "__device__ int launch_sibling(int n) { return n; }";
    CHECK_FALSE(launches_graphs("Queue queue; *p = queue.launch_tail(3);", own));
    CHECK_FALSE(launches_graphs("*p = launch_sibling(3);", own));
    CHECK(launches_graphs("*p = launch_sibling(3) + gpo::launch_sibling(g);", own));
}
