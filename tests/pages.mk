# Rendered pages: render_page draws them from the texts in tests/pages.
if HAVE_PANGO
check_PROGRAMS += tests/render_page
endif
EXTRA_PROGRAMS += tests/render_page
tests_render_page_SOURCES = tests/render_page.c
tests_render_page_CFLAGS = $(AM_CFLAGS) $(PANGO_CFLAGS)
tests_render_page_LDADD = $(PANGO_LIBS)
dist_check_SCRIPTS += tests/render_pages.sh
EXTRA_DIST += tests/page_cases.txt tests/pages

# All cases as pictures, for whoever needs a page: pages/NAME.png in the build folder.
pages: tests/render_page$(EXEEXT)
	$(AM_V_GEN)$(SHELL) $(srcdir)/tests/render_pages.sh tests/render_page $(srcdir)/tests pages

.PHONY: pages
