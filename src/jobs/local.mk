noinst_LTLIBRARIES += libpsgjobs.la
ROOM_LIBS += libpsgjobs.la
libpsgjobs_la_SOURCES = src/jobs/jobs.h src/jobs/future.h src/jobs/job.h src/jobs/lane.h src/jobs/lanes.h \
	src/jobs/thread.h src/jobs/queue.h src/jobs/keeper.h src/jobs/worker.h src/jobs/ec.h \
	src/jobs/futex.h src/jobs/fence.h src/jobs/tsan.h src/jobs/patience.h src/jobs/wait.h src/jobs/completion.h src/jobs/heap.h \
	src/jobs/executor.h src/jobs/observe.h src/jobs/turns.h src/jobs/look.h src/jobs/run.h \
	src/jobs/ec.c src/jobs/fence.c src/jobs/future.c src/jobs/wait.c src/jobs/completion.c src/jobs/promise.c src/jobs/lane.c \
	src/jobs/lanes.c src/jobs/thread.c src/jobs/queue.c src/jobs/heap.c src/jobs/job.c src/jobs/submit.c \
	src/jobs/keeper.c src/jobs/turns.c src/jobs/look.c src/jobs/run.c src/jobs/serve.c src/jobs/executor.c \
	src/jobs/worker.c src/jobs/shared.c src/jobs/counters.c src/jobs/observe.c src/jobs/stats.c src/jobs/pool.c
pkginclude_HEADERS += include/pagesift/job.h include/pagesift/shared.h include/pagesift/stats.h
# batches of several jobs
libpsgjobs_la_SOURCES += src/jobs/fit.h src/jobs/choice.h src/jobs/rows.h src/jobs/batcher.h \
	src/jobs/batch.h src/jobs/flight.h src/jobs/submit.h src/jobs/serve.h \
	src/jobs/fit.c src/jobs/choice.c src/jobs/rows.c src/jobs/batcher.c src/jobs/batch.c src/jobs/batch_run.c src/jobs/flight.c
pkginclude_HEADERS += include/pagesift/batch.h
# devices that do not answer
libpsgjobs_la_SOURCES += src/jobs/stall.h src/jobs/stall.c
# several devices as one
libpsgjobs_la_SOURCES += src/jobs/fleet.h src/jobs/fleet.c src/jobs/route.c src/jobs/move.c
pkginclude_HEADERS += include/pagesift/fleet.h
dist_man_MANS += docs/man/pagesift-gpu-jobs.7
