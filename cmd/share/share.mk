# What comes along with the binary: the manual, the completions, the unit, an example of each configuration
# file, all made from the binary's own table; and where make install puts it.

BINDIR  ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
UNITDIR ?= $(PREFIX)/lib/systemd/system
DOCDIR  ?= $(DATADIR)/doc/python-sandbox
ZSHDIR  ?= $(DATADIR)/zsh/site-functions

SHARE  := $(BUILD)/share
SHARED := $(addprefix $(SHARE)/,python-sandbox.1 python-sandbox.bash python-sandbox.zsh \
	python-sandbox.fish python-sandbox.service config.json)

# FILE=PLACE=MODE
INSTALLED = \
	$(BUILD)/python-sandbox=$(BINDIR)/python-sandbox=755 \
	$(SHARE)/python-sandbox.1=$(DATADIR)/man/man1/python-sandbox.1=644 \
	$(SHARE)/python-sandbox.bash=$(DATADIR)/bash-completion/completions/python-sandbox=644 \
	$(SHARE)/python-sandbox.zsh=$(ZSHDIR)/_python-sandbox=644 \
	$(SHARE)/python-sandbox.fish=$(DATADIR)/fish/vendor_completions.d/python-sandbox.fish=644 \
	$(SHARE)/python-sandbox.service=$(UNITDIR)/python-sandbox.service=644 \
	$(SHARE)/config.json=$(DOCDIR)/examples/config.json=644 \
	cmd/share/server.env=$(DOCDIR)/examples/server.env=644 \
	docker/seccomp.json=$(DOCDIR)/examples/seccomp.json=644 \
	README.md=$(DOCDIR)/README.md=644 \
	LICENSE=$(DOCDIR)/LICENSE=644

# $(call fill,FORM) fills the template that is the first prerequisite.
fill = $(Q)mkdir -p $(@D) && $(BUILD)/python-sandbox table | awk -v form=$(1) -v VERSION='$(VERSION)' \
	-v DATE='$(firstword $(subst T, ,$(BUILT)))' -v BIN='$(BINDIR)/python-sandbox' \
	-f cmd/share/fill.awk - $< > $@.tmp && mv $@.tmp $@

$(SHARED): $(BUILD)/python-sandbox cmd/share/fill.awk

$(SHARE)/python-sandbox.1: cmd/share/python-sandbox.1.in
	$(call fill,man)

$(SHARE)/python-sandbox.%: cmd/share/completion/python-sandbox.%.in
	$(call fill,$*)

# Names where the binary will be.
$(SHARE)/python-sandbox.service: cmd/share/systemd/python-sandbox.service.in FORCE
	$(call fill,unit)

$(SHARE)/config.json: cmd/share/config.json.in
	$(call fill,json)

share: $(SHARED)

install: all share
	$(Q)for one in $(INSTALLED); do file=$${one%%=*} rest=$${one#*=}; \
		install -D -m "$${rest#*=}" "$$file" "$(DESTDIR)$${rest%=*}" || exit 1; done

uninstall:
	$(Q)for one in $(INSTALLED); do rest=$${one#*=}; rm -f "$(DESTDIR)$${rest%=*}"; done
	$(Q)rmdir "$(DESTDIR)$(DOCDIR)/examples" "$(DESTDIR)$(DOCDIR)" 2>/dev/null || true

# A Debian package of what install puts there, in build/.
deb: all
	$(Q)rm -rf $(BUILD)/deb
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD) PREFIX=/usr DESTDIR=$(BUILD)/deb/root \
		UNITDIR=/lib/systemd/system ZSHDIR=/usr/share/zsh/vendor-completions install
	$(Q)VERSION='$(VERSION)' REVISION='$(REVISION)' cmd/share/debian/build.sh $(BUILD)/deb $(BUILD)

.PHONY: share install uninstall deb
