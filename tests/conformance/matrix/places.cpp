// The places of the matrix.
#include "conformance/resident_rig.h"
#include "matrix.h"

namespace gpo::test::matrix {

namespace {

Template new_template(World& world) {
    Template made;
    REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, made.out()));
    return made;
}

class Plain : public Site {
public:
    Plain(World& world, Act& act, uint32_t flags = 0) : Site(world, act) { stream = world.gpu.stream("cell", flags); }
    Calls perform() override { return {put_behind_gate(), GPO_SUCCESS}; }
};

class Resident final : public Plain {
public:
    Resident(World& world, Act& act) : Plain(world, act, GPO_STREAM_RESIDENT) {}
    Calls perform() override {
        // Calls that load code are refused once the kernel is resident.
        gpo_status status = act.prepare();
        REQUIRE_OK(gate());
        if (status == GPO_SUCCESS && act.at_once) status = act.at_once();
        return {status == GPO_SUCCESS ? act.put(on()) : status, GPO_SUCCESS};
    }
};

class BesideResident final : public Plain {
public:
    BesideResident(World& world, Act& act) : Plain(world, act) {}
    ~BesideResident() override { CHECK(resident_.stays()); }

private:
    ResidentKernel resident_{world.gpu};
};

/// A stream that is held until the host signals a timeline value: this is the gate.
class Held : public Site {
public:
    Held(World& world, Act& act) : Site(world, act), timeline_(world.gpu.timeline(0, "gate")) {
        stream = world.gpu.stream("cell");
    }
    Calls perform() override {
        gpo_status status = act.prepare();
        REQUIRE_OK(hold());
        if (status == GPO_SUCCESS && act.at_once) status = act.at_once();
        return {status == GPO_SUCCESS ? act.put(on()) : status, GPO_SUCCESS};
    }
    void open() override { CHECK_OK(gpo_timeline_signal(timeline_, 1)); }
    void fail() override { CHECK_OK(gpo_timeline_fail(timeline_, GPO_FAILED, "by the matrix")); }

protected:
    virtual gpo_status hold() { return gpo_stream_wait_timeline(stream, timeline_, 1); }
    Timeline timeline_;
};

/// The stream is held by its part of a collective, because another rank's stream is held.
class InGroup final : public Held {
public:
    InGroup(World& world, Act& act) : Held(world, act), group_(world.group(world.devices.size())) {
        for (const Device& device : world.devices) {
            Stream made;
            REQUIRE_OK(gpo_stream_create(device, nullptr, made.out()));
            streams_.push_back(std::move(made));
            send_.emplace_back(device, 64);
            receive_.emplace_back(device, 64);
        }
    }

private:
    gpo_status hold() override {
        gpo_status status = gpo_stream_wait_timeline(streams_.size() > 1 ? streams_[1].get() : on(), timeline_, 1);
        if (status) return status;
        const gpo_collective sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, 16, GPO_REDUCE_SUM);
        std::vector<gpo_rank_part> parts(streams_.size(), sized<gpo_rank_part>());
        for (size_t rank = 0; rank < parts.size(); ++rank) {
            parts[rank].stream = rank ? streams_[rank].get() : on();
            parts[rank].send = send_[rank];
            parts[rank].receive = receive_[rank];
        }
        return gpo_peers_submit(group_, &sum, parts.data(), sizeof parts[0], static_cast<uint32_t>(parts.size()));
    }
    const Peers group_;
    std::vector<Stream> streams_;
    std::vector<RankMemory> send_, receive_;
};

/// A stream that has learned a sequence of two kernels. The operation replaces the second kernel.
class Learning final : public Plain {
public:
    Learning(World& world, Act& act) : Plain(world, act, GPO_STREAM_LEARNS), first_(world.word()) {
        for (int turn = 0; turn < 2000 && info_of(stream).replayed == 0; ++turn) {
            put_two();
            REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        }
        REQUIRE(info_of(stream).replayed > 0);
    }
    Calls perform() override {
        gpo_status status = act.prepare();
        if (status == GPO_SUCCESS && act.at_once) status = before_gate();
        REQUIRE_OK(gate());
        put_two();
        REQUIRE_OK(world.write(stream, first_, 1));   // withheld, until something else comes
        return {status == GPO_SUCCESS ? act.put(on()) : status, GPO_SUCCESS};
    }

private:
    void put_two() {
        REQUIRE_OK(world.write(stream, first_, 1));
        REQUIRE_OK(world.add(stream, first_, first_, 1));
    }
    uint32_t* const first_;
};

class Wrapped final : public Site {
public:
    Wrapped(World& world, Act& act) : Site(world, act), behind_(world.gpu.stream("behind")) {
        void* native = nullptr;
        REQUIRE_OK(gpo_stream_get_native(behind_, &native));
        REQUIRE_OK(gpo_stream_wrap(world.gpu.device, native, nullptr, stream.out()));
    }
    ~Wrapped() override { stream.reset(); }   // the native stream has to be there until then
    Calls perform() override { return {put_behind_gate(), GPO_SUCCESS}; }

private:
    Stream behind_;
};

class OfPool final : public Site {
public:
    OfPool(World& world, Act& act) : Site(world, act) {
        REQUIRE_OK(gpo_stream_pool_create(world.gpu.device, nullptr, pool_.out()));
        REQUIRE_OK(gpo_stream_pool_acquire(pool_, 0, &borrowed));
    }
    Calls perform() override { return {put_behind_gate(), GPO_SUCCESS}; }
    void give_up() override {
        Site::give_up();
        pool_.reset();
        borrowed = nullptr;
    }

private:
    StreamPool pool_;
};

/// The operation is part of a graph, which is launched behind the gate.
class InGraph : public Site {
public:
    InGraph(World& world, Act& act)
        : Site(world, act), recorded_(new_template(world)), recorder_(world.gpu.stream("recorder")),
          side_(world.gpu.memory(4 * sizeof(uint32_t))) {
        stream = world.gpu.stream("cell");
        REQUIRE_OK(gpo_fill(recorder_, side_, 0, 4, 4));
        REQUIRE_OK(gpo_fill(recorder_, side_ + 12, 21, 4, 1));
        REQUIRE_OK(gpo_stream_wait(recorder_, kPatience));
    }
    void prepare() override {
        if (prepared_) return;
        prepared_ = true;
        build(made_);
        if (made_.call || made_.end) return;
        // A copy beside the operation, with a parameter set. record_anew() uses the parameter's name for another field.
        uint32_t node = 0;
        const gpo_copy copy = copy_between(side_, side_ + 4, sizeof(uint32_t));
        REQUIRE_OK(gpo_template_add_copy(whole(), nullptr, 0, &copy, &node));
        REQUIRE_OK(gpo_template_add_parameter(whole(), "number", node, GPO_PARAMETER_BYTES, 0));
        made_.end = gpo_graph_create(whole(), nullptr, graph_.out());
        if (made_.end) return;
        const uint64_t bytes = 2;
        REQUIRE_OK(gpo_graph_set(graph_, "number", &bytes, sizeof bytes));
    }
    Calls perform() override {
        prepare();
        if (made_.call || made_.end) return made_;
        if (act.at_once) world.wait_for_frees();
        REQUIRE_OK(gate());
        made_.end = launch_graph();
        return made_;
    }
    void record_anew() override {
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_clear(whole()));
        const gpo_copy copy = copy_between(side_ + 8, side_ + 12, sizeof(uint32_t));
        REQUIRE_OK(gpo_template_add_copy(whole(), nullptr, 0, &copy, &node));
        REQUIRE_OK(gpo_template_add_parameter(whole(), "number", node, GPO_PARAMETER_DESTINATION, 0));
        REQUIRE_OK(gpo_graph_update(graph_, nullptr));
    }
    void check_anew() override {
        CHECK(anew() == 0);
        REQUIRE_OK(gpo_graph_launch(graph_, stream));
        CHECK(anew() == 21);
    }
    void give_up() override {
        graph_.reset();
        recorded_.reset();
        give_up_more();
        Site::give_up();
    }

protected:
    virtual void build(Calls& calls) = 0;
    virtual gpo_template_t whole() { return recorded_; }
    virtual gpo_status launch_graph() { return gpo_graph_launch(graph_, stream); }
    virtual void give_up_more() {}
    /// Records the operation into `to`, and ends the recording in any case.
    void record(gpo_template_t to, Calls& calls) {
        REQUIRE_OK(gpo_template_begin(to, recorder_));
        put_recorded(to, calls);
        calls.end = gpo_template_end(to);
        // Even after a refusal, the stream can be used again.
        uint32_t* const usable = world.word();
        CHECK_OK(world.write(recorder_, usable, 1));
        CHECK_OK(gpo_stream_wait(recorder_, kPatience));
        CHECK(read(*usable) == 1);
    }
    virtual void put_recorded(gpo_template_t to, Calls& calls) {
        if (act.at_once) calls.call = act.at_once();
        if (calls.call == GPO_SUCCESS) calls.call = act.record(to, recorder_);
    }

    static gpo_copy copy_between(uint64_t to, uint64_t from, uint64_t bytes) {
        auto copy = sized<gpo_copy>();
        copy.destination = to;
        copy.source = from;
        copy.bytes = bytes;
        return copy;
    }

    Template recorded_;
    Stream recorder_;
    Graph graph_;

private:
    /// The word that the copy of record_anew() writes.
    uint32_t anew() {
        uint32_t* const seen = world.word();
        *seen = 99;
        REQUIRE_OK(gpo_copy_to_host(stream, seen, side_ + 8, sizeof *seen));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        return read(*seen);
    }
    Memory side_;   // four words: a copy from the second to the first, and later from the fourth to the third
    bool prepared_ = false;
    Calls made_;
};

class Recorded : public InGraph {
public:
    using InGraph::InGraph;
    void build(Calls& calls) override { record(recorded_, calls); }
};

/// On a stream that has joined the recording.
class Forked final : public Recorded {
public:
    Forked(World& world, Act& act) : Recorded(world, act), side_(world.gpu.stream("side")) {}
    void put_recorded(gpo_template_t to, Calls& calls) override {
        uint32_t* const before = world.word();
        REQUIRE_OK(world.write(recorder_, before, 1));
        REQUIRE_OK(gpo_event_record(fork_, recorder_));
        REQUIRE_OK(gpo_stream_wait_event(side_, fork_));
        REQUIRE_OK(world.write(side_, before, 2));
        if (act.at_once) calls.call = act.at_once();
        if (calls.call == GPO_SUCCESS) calls.call = act.record(to, side_);
        REQUIRE_OK(gpo_event_record(join_, side_));
        REQUIRE_OK(gpo_stream_wait_event(recorder_, join_));
    }

private:
    Stream side_;
    Event fork_ = world.gpu.event(), join_ = world.gpu.event();
};

class ByAnotherThread final : public Recorded {
public:
    using Recorded::Recorded;
    gpo_status launch_graph() override {
        gpo_status status = GPO_INTERNAL;
        std::thread([&] { status = gpo_graph_launch(graph_, stream); }).join();
        return status;
    }
};

class AsNode final : public InGraph {
public:
    using InGraph::InGraph;
    void build(Calls& calls) override { calls.call = act.as_node(recorded_, nullptr, 0, nullptr); }
};

class InBody : public InGraph {
public:
    InBody(World& world, Act& act) : InGraph(world, act) {
        uint32_t* const zero = world.word();
        auto condition = sized<gpo_condition>();
        condition.comparison = GPO_COMPARE_EQUAL;
        condition.word = reinterpret_cast<uint64_t>(zero);
        REQUIRE_OK(gpo_template_add_if(recorded_, nullptr, 0, &condition, body_.out(), nullptr, nullptr));
    }
    void give_up_more() override { body_.reset(); }

protected:
    Template body_;
};

class InBuiltBody final : public InBody {
public:
    using InBody::InBody;
    void build(Calls& calls) override { calls.call = act.as_node(body_, nullptr, 0, nullptr); }
};

class InRecordedBody final : public InBody {
public:
    using InBody::InBody;
    void build(Calls& calls) override { record(body_, calls); }
};

class InChild final : public InGraph {
public:
    InChild(World& world, Act& act) : InGraph(world, act), parent_(new_template(world)) {}
    void build(Calls& calls) override {
        record(recorded_, calls);
        if (calls.call == GPO_SUCCESS && calls.end == GPO_SUCCESS)
            calls.end = gpo_template_add_child(parent_, nullptr, 0, recorded_, "child.", nullptr);
    }
    gpo_template_t whole() override { return parent_; }
    void give_up_more() override { parent_.reset(); }

private:
    Template parent_;
};

/// Its stream was in a recording, which has ended.
class BehindRecording final : public Plain {
public:
    BehindRecording(World& world, Act& act) : Plain(world, act), before_(new_template(world)) {
        REQUIRE_OK(gpo_template_begin(before_, stream));
        REQUIRE_OK(world.write(stream, world.word(), 1));
        REQUIRE_OK(gpo_template_end(before_));
    }

private:
    Template before_;
};

/// Inside a function that the library calls.
class Inside : public Plain {
public:
    Inside(World& world, Act& act) : Plain(world, act), caller_(world.gpu.stream("caller")) {}
    Calls perform() override {
        prepared_ = act.prepare();
        REQUIRE_OK(prepared_);
        call();
        REQUIRE_OK(gpo_stream_wait(caller_, kPatience));
        while (!called_) std::this_thread::yield();
        if (gate_later_) world.wait_for_frees(), put_behind(status_);
        return {status_, GPO_SUCCESS};
    }

protected:
    virtual void call() = 0;
    /// On the thread of the call.
    virtual void act_here() {
        status_ = act.at_once ? act.at_once() : GPO_SUCCESS;
        if (status_ != GPO_SUCCESS) return;
        if (act.at_once) gate_later_ = true;   // objects destroyed by at_once may wait for this call
        else put_behind(status_);
    }
    void put_behind(gpo_status& status) {
        status = gate();
        if (status == GPO_SUCCESS) status = act.put(on());
    }
    static void run(void* self) {
        static_cast<Inside*>(self)->act_here();
        static_cast<Inside*>(self)->called_ = true;
    }

    Stream caller_;
    gpo_status prepared_ = GPO_SUCCESS, status_ = GPO_INTERNAL;
    bool gate_later_ = false;
    std::atomic<bool> called_{false};
};

class InHostCall final : public Inside {
public:
    using Inside::Inside;
    void call() override {
        REQUIRE_OK(gpo_stream_host_call(
            caller_, world.executor,
            [](void* self, const gpo_host_call*) -> gpo_status {
                run(self);
                return GPO_SUCCESS;
            },
            static_cast<Inside*>(this)));
    }
};

class InCallback final : public Inside {
public:
    using Inside::Inside;
    void call() override {
        REQUIRE_OK(gpo_stream_then(
            caller_, world.executor, [](void* self, const gpo_completion*, const gpo_error*) { run(self); },
            static_cast<Inside*>(this)));
    }
};

class InHostNode final : public Inside {
public:
    using Inside::Inside;
    void call() override {
        made_ = new_template(world);
        REQUIRE_OK(gpo_template_add_host_call(made_, nullptr, 0, run, static_cast<Inside*>(this), nullptr));
        Graph graph;
        REQUIRE_OK(gpo_graph_create(made_, nullptr, graph.out()));
        REQUIRE_OK(gpo_graph_launch(graph, caller_));
        REQUIRE_OK(gpo_stream_wait(caller_, kPatience));
    }
    void act_here() override { status_ = act.at_once ? act.at_once() : act.put(on()); }

private:
    Template made_;
};

template <class T>
std::unique_ptr<Site> make(World& world, Act& act) {
    return std::make_unique<T>(world, act);
}

}  // namespace

const std::vector<Place>& places() {
    static const std::vector<Place> all = {
        {"a stream", 0, make<Plain>},
        {"a held stream", kHeld | kCanFail, make<Held>},
        {"a resident stream", kResident, make<Resident>},
        {"a stream that learns", 0, make<Learning>},
        {"a wrapped stream", kNeverHeld, make<Wrapped>},
        {"a stream of a pool", 0, make<OfPool>},
        {"a recording", kRecords, make<Recorded>},
        {"a stream that joined a recording", kRecords, make<Forked>},
        {"a stream whose recording has ended", 0, make<BehindRecording>},
        {"a template, as a node", kBuilds, make<AsNode>},
        {"a body, as a node", kBuilds | kInBody, make<InBuiltBody>},
        {"a body, recorded", kRecords | kInBody, make<InRecordedBody>},
        {"a child", kRecords | kInChild, make<InChild>},
        {"a graph that another thread launches", kRecords, make<ByAnotherThread>},
        {"a stream held by its part of a collective", kHeld | kCanFail, make<InGroup>},
        {"beside resident work", kBesideResident, make<BesideResident>},
        {"inside a host node", kDriverThread, make<InHostNode>},
        {"inside a host call", 0, make<InHostCall>},
        {"inside a callback", 0, make<InCallback>},
    };
    return all;
}

}  // namespace gpo::test::matrix
