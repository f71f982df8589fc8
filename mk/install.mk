# `make install`: DESTDIR and PREFIX as usual. The guest image is installed if it was built.

PREFIX ?= /usr/local
INSTALL_ROOT := $(DESTDIR)$(PREFIX)

$(B)/man/cede.1: $(B)/cede tools/make-man
	$(Q)tools/make-man $(B)/cede $(B)/man

.PHONY: man install
man: $(B)/man/cede.1 ## manual pages and completion, made from the command's own help

install: all $(B)/man/cede.1 ## into DESTDIR and PREFIX (/usr/local)
	$(Q)install -D -m 755 $(B)/cede $(INSTALL_ROOT)/bin/cede
	$(Q)install -D -m 644 $(B)/hv/cede-hv.bin $(INSTALL_ROOT)/lib/cede/hv/cede-hv.bin
	$(Q)for f in vmlinuz initramfs.cpio; do \
	    [ ! -e $(B)/guests/$$f ] || install -D -m 644 $(B)/guests/$$f $(INSTALL_ROOT)/lib/cede/guests/$$f; done
	$(Q)install -D -m 644 $(B)/release/libcede.a $(INSTALL_ROOT)/lib/libcede.a
	$(Q)for f in include/cede/*.h include/cede/lists/*.def; do \
	    install -D -m 644 $$f $(INSTALL_ROOT)/$$f; done
	$(Q)for f in abi/*.h abi/*.def; do install -D -m 644 $$f $(INSTALL_ROOT)/include/$$f; done
	$(Q)mkdir -p $(INSTALL_ROOT)/lib/pkgconfig
	$(Q)printf 'prefix=%s\nName: libcede\nDescription: decides which virtual CPU runs\nVersion: 0.1\nCflags: -I$${prefix}/include\nLibs: -L$${prefix}/lib -lcede\n' \
	    '$(PREFIX)' >$(INSTALL_ROOT)/lib/pkgconfig/libcede.pc
	$(Q)for f in $(B)/man/*.1; do install -D -m 644 $$f $(INSTALL_ROOT)/share/man/man1/$${f##*/}; done
	$(Q)install -D -m 644 $(B)/man/cede.bash $(INSTALL_ROOT)/share/bash-completion/completions/cede
	$(Q)for f in scenarios/*.yaml scenarios/*/*; do install -D -m 644 $$f $(INSTALL_ROOT)/share/cede/$$f; done
