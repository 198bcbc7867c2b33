noinst_LTLIBRARIES += libpsgjobs.la
ROOM_LIBS += libpsgjobs.la
libpsgjobs_la_SOURCES = src/jobs/jobs.h
pkginclude_HEADERS += include/pagesift/job.h
