# The Linux guest's kernel and initramfs. What is fetched stays in $(B)/cache.

GUEST_CACHE := $(B)/cache
GUEST_INIT_SOURCES := guests/image/init.c guests/image/facts.c

# What goes into the initramfs, as FILE=PATH; guests/workload/module.mk adds the workloads.
GUEST_FILES       := init=$(GUESTS)/init BUSYBOX=/bin/busybox usr/bin/hackbench=/usr/bin/hackbench \
                    cede/all=$(GUESTS)/workload/all $(foreach w,$(GUEST_WORKLOADS),cede/$(w)=@all)
GUEST_FILES_NEEDS := $(GUESTS)/init $(GUESTS)/workload/all

$(GUESTS)/init: $(call objects,host,$(GUEST_INIT_SOURCES))
	@mkdir -p $(@D)
	$(Q)$(CC) -static -no-pie -s -o $@ $^

$(GUESTS)/vmlinuz: guests/image/fetch-kernel
	$(Q)guests/image/fetch-kernel $(GUEST_CACHE) $@

# Two images: the second is the first with stress-ng and its libraries, many times the size.
$(GUESTS)/initramfs.cpio: guests/image/build-initramfs $(GUEST_FILES_NEEDS)
	$(Q)guests/image/build-initramfs $@ $(GUEST_FILES)
$(GUESTS)/initramfs-stress.cpio: guests/image/build-initramfs $(GUEST_FILES_NEEDS)
	$(Q)guests/image/build-initramfs $@ $(GUEST_FILES) usr/bin/stress-ng=/usr/bin/stress-ng

.PHONY: guest-image
guest-image: setup ## the Linux guest: kernel from Debian's package, initramfs with the workloads
	@$(MAKE) --no-print-directory $(GUESTS)/vmlinuz $(GUESTS)/initramfs.cpio \
	    $(GUESTS)/initramfs-stress.cpio

TEST_SCRIPTS += guests/image/test-boot
TEST_NEEDS   += $(GUESTS)/vmlinuz $(GUESTS)/initramfs.cpio
