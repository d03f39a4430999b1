// advice.hpp: the forms of work that fit a workload (advice.h).
#ifndef GPUORCH_CPP_ADVICE_HPP
#define GPUORCH_CPP_ADVICE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "call.hpp"

namespace gpuorch {

/// The forms of work that fit a workload, the best first (advice.h). `now`, which may be NULL, gets a breakdown of a
/// round's time. Costs that the workload leaves at 0 are those of `device`, or of an H200 without a device.
template <class Workload = workload>
std::vector<gpo_advice> advise(const Workload& work, gpo_diagnosis* now = nullptr, gpo_device_t device = nullptr) {
    if (now) now->struct_size = sizeof *now;
    std::vector<gpo_advice> forms(32);
    for (gpo_advice& form : forms) form.struct_size = sizeof form;
    std::uint64_t count = 0;
    check(gpo_advise(device, detail::with_size<gpo_workload>(work), now, forms.data(), sizeof forms[0], forms.size(),
                     &count));
    forms.resize(count);
    return forms;
}

/// The report on the run in a trace file; `work`, which may be NULL, gets the run as a workload.
inline std::string advise_trace(const std::string& path, gpo_workload* work = nullptr) {
    if (work) work->struct_size = sizeof *work;
    return detail::text(gpo_advise_trace, path.c_str(), work);
}

}  // namespace gpuorch

#endif
