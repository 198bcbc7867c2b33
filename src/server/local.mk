# The HTTP server: uses the library through its public headers only, as the command does.
if HAVE_MICROHTTPD
noinst_LTLIBRARIES += libpsgserver.la
libpsgserver_la_SOURCES = src/server/body.c src/server/body.h src/server/clerk.c src/server/clerk.h \
	src/server/connection.c src/server/connection.h src/server/document.c \
	src/server/document.h src/server/engine.c src/server/framing.c src/server/health.c \
	src/server/http.c src/server/http.h src/server/info.c src/server/inner.h \
	src/server/life.c src/server/listen.c src/server/listen.h src/server/metrics.c \
	src/server/metrics.h src/server/notify.c src/server/notify.h src/server/ocr.c \
	src/server/page.c src/server/problem.c src/server/problem.h src/server/reply.c \
	src/server/request.h src/server/route.c src/server/route.h src/server/say.c \
	src/server/say.h src/server/server.h src/server/signals.c src/server/signals.h \
	src/server/token.c src/server/token.h src/server/warm.c src/server/warm.h \
	src/server/work.c src/server/work.h
libpsgserver_la_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
BUILT_SOURCES += src/server/page.inc
CLEANFILES += src/server/page.inc
endif
EXTRA_DIST += src/server/page.html

# The page as numbers, for an array.
src/server/page.inc: src/server/page.html
	$(AM_V_GEN)$(MKDIR_P) src/server && od -An -v -tu1 $(top_srcdir)/src/server/page.html | \
		sed 's/  *\([0-9][0-9]*\)/\1,/g' >$@.tmp && mv $@.tmp $@
