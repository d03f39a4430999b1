// All of it is built in (gpo_device.h).
