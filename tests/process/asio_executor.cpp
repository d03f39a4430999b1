// The program of loops/asio_executor.cpp as a test of its own, with the machine's Boost: it goes where the suites go.
#include "loops/asio_executor.cpp"
