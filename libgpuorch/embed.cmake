# Makes a C++ source that holds a file's bytes: cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P embed.cmake
# It defines `extern const unsigned char NAME[]`, with a NUL behind the last byte, and `extern const size_t NAME_bytes`.
file(READ "${INPUT}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," values "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" values "${values}")
get_filename_component(file "${INPUT}" NAME)
file(WRITE "${OUTPUT}" "// The bytes of ${file}. Made by embed.cmake.
#include <cstddef>

extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}_bytes;

const unsigned char ${NAME}[] = {
${values}0x00};
const std::size_t ${NAME}_bytes = ${bytes};
")
