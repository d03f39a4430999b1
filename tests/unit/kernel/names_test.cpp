// Names of kernels, and the checks of an image before a driver gets it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/digest.h"
#include "core/error.h"
#include "driver/builtin.h"
#include "kernel/kernel_image.h"
#include "kernel/kernel_names.h"
#include "support/files.h"

using namespace gpo;
using namespace gpo::kernel;

namespace {

using Names = std::vector<std::string>;
using Lowered = std::vector<std::pair<std::string, std::string>>;

std::string find(std::string_view name, const Names& symbols, const Lowered& lowered = {}, std::string* why = nullptr) {
    std::string reason;
    return find_symbol(name, symbols, lowered, why ? why : &reason);
}

gpo_status status_of_image(const void* bytes, size_t size) {
    try {
        ImageBytes image(bytes, size);
        return GPO_SUCCESS;
    } catch (const Failure& failure) {
        return failure.error()->status;
    }
}

std::string own_program() { return gpo::test::read_whole("/proc/self/exe"); }

std::string digest_of(const std::string& text) {
    Digest digest;
    digest.add(text.data(), text.size());
    return hex_of(digest.finish());
}

}  // namespace

TEST_CASE("symbols come apart into their names") {
    CHECK(demangle("saxpy").qualified == "saxpy");
    CHECK(demangle("_Z4blurPfi").qualified == "blur");
    CHECK(demangle("_ZN2ns4blurEPf").qualified == "ns::blur");
    CHECK(demangle("_ZN2ns4blurEPf").plain == "blur");
    const DemangledName scale = demangle("_Z5scaleIfEvPT_S0_m");
    CHECK(scale.qualified == "scale<float>");
    CHECK(scale.plain == "scale");
    CHECK(scale.is_template);
    CHECK(demangle("_ZN12_GLOBAL__N_14blurEPf").plain == "blur");
    CHECK(demangle("_ZN2ns3mapIZNS_1fEvEUliE_EEvT_").plain == "map");
    CHECK(demangle("_Zbroken").qualified == "_Zbroken");
}

TEST_CASE("a kernel is found by symbol, plain name, qualified name and name expression") {
    const Names symbols = {"saxpy", "_Z4blurPfi", "_ZN2ns3mapEPf", "_Z5scaleIfEvPT_S0_m"};
    const Lowered lowered = {{"scale<float>", "_Z5scaleIfEvPT_S0_m"}};
    CHECK(find("saxpy", symbols) == "saxpy");
    CHECK(find("blur", symbols) == "_Z4blurPfi");
    CHECK(find("_Z4blurPfi", symbols) == "_Z4blurPfi");
    CHECK(find("map", symbols) == "_ZN2ns3mapEPf");
    CHECK(find("ns::map", symbols) == "_ZN2ns3mapEPf");
    CHECK(find("scale<float>", symbols, lowered) == "_Z5scaleIfEvPT_S0_m");
    CHECK(find("scale< float >", symbols, lowered) == "_Z5scaleIfEvPT_S0_m");
    CHECK(find("scale<float>", symbols) == "_Z5scaleIfEvPT_S0_m");
}

TEST_CASE("a name that isn't there, or stands for more than one kernel, is answered with a list") {
    const Names symbols = {"_Z4blurPfi", "_Z4blurPdi", "_Z5scaleIfEvPT_S0_m"};
    std::string why;
    CHECK(find("blur", symbols, {}, &why).empty());
    CHECK(why == "`blur` is overloaded, ask for one of its symbols: _Z4blurPfi _Z4blurPdi");
    CHECK(find("scale", symbols, {}, &why).empty());
    CHECK(why ==
          "the module has no kernel `scale`; it has blur (_Z4blurPdi), blur (_Z4blurPfi), "
          "scale<float> (_Z5scaleIfEvPT_S0_m); kernels of a template are there if a name expression asked for them");
    CHECK(find("any", {}, {}, &why).empty());
    CHECK(why == "the module has no kernel `any`; it has none, or none that the driver tells of; kernels of a template "
                 "are there if a name expression asked for them");
}

TEST_CASE("the list of a module with many kernels ends") {
    Names symbols;
    for (int i = 0; i < 1000; ++i) symbols.push_back("kernel" + std::to_string(i));
    std::string why;
    find("other", symbols, {}, &why);
    CHECK(why.size() < 1000);
    CHECK(why.find(" and 980 more; ") != std::string::npos);
}

TEST_CASE("PTX names its kernels") {
    const std::string_view ptx = driver::builtin_ptx();
    CHECK(status_of_image(ptx.data(), ptx.size()) == GPO_SUCCESS);
    const auto names = names_in_image(std::as_bytes(std::span(ptx)));
    CHECK(names == Names{"gpo_fill_u32", "gpo_copy_u32", "gpo_scale_add_f32", "gpo_add_f32", "gpo_histogram_u8",
                         "gpo_reduce_add_f32"});
}

TEST_CASE("the names of an ELF file's functions are among those that occur in it") {
    const std::string program = own_program();
    const auto names = names_in_image(std::as_bytes(std::span(program)));
    for (const char* name : {"main", "_ZN3gpo6kernel14names_in_imageESt4spanIKSt4byteLm18446744073709551615EE"}) {
        CAPTURE(name);
        CHECK(std::binary_search(names.begin(), names.end(), std::string(name)));
    }
}

TEST_CASE("an ELF file that is cut short anywhere is refused") {
    const std::string program = own_program();
    REQUIRE(program.size() > 4096);
    CHECK(status_of_image(program.data(), program.size()) == GPO_SUCCESS);
    for (const size_t size : {size_t{1}, size_t{4}, size_t{16}, size_t{63}, size_t{64}, size_t{1000},
                              program.size() / 2, program.size() - 1}) {
        CAPTURE(size);
        CHECK(status_of_image(program.data(), size) == GPO_INVALID_IMAGE);
    }
}

TEST_CASE("an ELF file with wild offsets is refused") {
    const std::string program = own_program();
    // e_phoff, e_shoff, and the sizes of their entries.
    for (const size_t offset : {size_t{0x20}, size_t{0x28}, size_t{0x36}, size_t{0x3a}}) {
        CAPTURE(offset);
        std::string altered = program;
        std::memset(altered.data() + offset, 0xff, 2);
        std::memset(altered.data() + offset + (offset < 0x30 ? 4 : 0), 0xff, offset < 0x30 ? 4 : 2);
        CHECK(status_of_image(altered.data(), altered.size()) == GPO_INVALID_IMAGE);
    }
}

TEST_CASE("what is no image is refused, whatever it is") {
    for (const std::string& bytes : {std::string(), std::string("x"), std::string("#!/bin/sh\necho hello\n"),
                                     std::string(4096, '\0'), std::string("// only a comment"),
                                     std::string("\x50\xed\x55\xba\1\0\x10\0\xff\xff\xff\xff\0\0\0\0", 16),
                                     std::string(".version 8.2\n\0.target", 21)}) {
        CAPTURE(bytes.size());
        CHECK(status_of_image(bytes.data(), bytes.size()) == GPO_INVALID_IMAGE);
    }
}

TEST_CASE("a copy of an image has zeros behind it") {
    const std::string ptx = ".version 8.2\n.target sm_90\n";
    ImageBytes image(ptx.data(), ptx.size());
    CHECK(image.size() == ptx.size());
    CHECK(std::strlen(static_cast<const char*>(image.data())) == ptx.size());
}

TEST_CASE("SHA-256 gives the standard's examples") {
    CHECK(digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(digest_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(digest_of(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
