// Another process that imports events and looks at them: this program again, started once.
#pragma once

#include "gpuorch/gpuorch.h"

namespace gpo::test::matrix {

class OtherProcess {
public:
    /// Starts the process with the first call.
    static OtherProcess& instance();
    /// Exports the event to the process, which destroys the event imported before.
    void import_event(gpo_event_t event);
    gpo_status query();
    /// Waits there, for a while.
    gpo_status wait();

private:
    OtherProcess();
    ~OtherProcess();
    gpo_status ask(char what);
    int socket_ = -1, process_ = -1;
};

}  // namespace gpo::test::matrix
