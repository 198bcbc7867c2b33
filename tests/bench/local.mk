# Benchmarks: not tests, for their result is a time.  Each script says what it needs.
EXTRA_DIST += tests/bench/compare.cjs tests/bench/compare.sh tests/bench/modules.sh \
	tests/bench/ort_bench.cjs tests/bench/pages.sh

bench: pagesift-gpu$(EXEEXT)
	@PSG_TOP='$(abs_top_srcdir)' PSG_BUILD='$(abs_top_builddir)' \
		$(SHELL) $(srcdir)/tests/bench/compare.sh

bench-pages: pagesift-gpu$(EXEEXT) tests/render_page$(EXEEXT) tests/cer$(EXEEXT)
	@PSG_TOP='$(abs_top_srcdir)' PSG_BUILD='$(abs_top_builddir)' \
		$(SHELL) $(srcdir)/tests/bench/pages.sh

.PHONY: bench bench-pages
