# Guests: Linux image with workloads, and tiny bare-metal guests. Workloads come first: their list
# goes into the image.

GUESTS := $(B)/guests

include $(wildcard guests/workload/module.mk)
include guests/image/module.mk
include $(wildcard guests/bare/module.mk)
