# tests of the jobs room
if HAVE_CHECK
# what tests/nomem.h wraps
WRAP_MEMORY = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray \
	-Wl,--wrap=aligned_alloc,--wrap=posix_memalign,--wrap=strdup,--wrap=pthread_create
JOBS_TESTS = tests/test_jobs_future \
	tests/test_jobs_worker \
	tests/test_jobs_time \
	tests/test_jobs_host \
	tests/test_jobs_stress \
	tests/test_jobs_moments \
	tests/test_jobs_submit \
	tests/test_jobs_any \
	tests/test_jobs_bursts \
	tests/test_jobs_queue \
	tests/test_jobs_room \
	tests/test_jobs_deadline \
	tests/test_jobs_turns \
	tests/test_jobs_shared \
	tests/test_jobs_fleet \
	tests/test_jobs_stats \
	tests/test_jobs_trace \
	tests/test_schedules \
	tests/test_gpu_worker \
	tests/test_gpu_jobs \
	tests/test_gpu_storm \
	tests/test_gpu_fleet \
	tests/test_gpu_flight \
	tests/test_gpu_stall
check_PROGRAMS += $(JOBS_TESTS)
TESTS += $(JOBS_TESTS)
tests_test_jobs_future_SOURCES = tests/test_jobs_future.c tests/jobs_util.h tests/instrumented.h
tests_test_jobs_future_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_future_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_worker_SOURCES = tests/test_gpu_worker.c tests/jobs_util.h tests/fakecuda_util.c \
	tests/fakecuda_util.h
tests_test_gpu_worker_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_worker_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_jobs_SOURCES = tests/test_gpu_jobs.c tests/jobs_util.h tests/fakecuda_util.c \
	tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_gpu_jobs_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_jobs_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_fleet_SOURCES = tests/test_gpu_fleet.c tests/jobs_util.h tests/fakecuda_util.c \
	tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_gpu_fleet_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_fleet_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_stall_SOURCES = tests/test_gpu_stall.c tests/jobs_util.h tests/batch_util.h tests/fakecuda_util.c \
	tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_gpu_stall_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_stall_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_flight_SOURCES = tests/test_gpu_flight.c tests/jobs_util.h tests/batch_util.h tests/fakecuda_util.c \
	tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_gpu_flight_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_flight_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_storm_SOURCES = tests/test_gpu_storm.c tests/instrumented.h tests/jobs_util.h tests/fakecuda_util.c \
	tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_gpu_storm_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_storm_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_worker_SOURCES = tests/test_jobs_worker.c tests/jobs_util.h
tests_test_jobs_worker_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_worker_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_time_SOURCES = tests/test_jobs_time.c tests/jobs_util.h
tests_test_jobs_time_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_time_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_host_SOURCES = tests/test_jobs_host.c tests/jobs_util.h
tests_test_jobs_host_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_host_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_stress_SOURCES = tests/test_jobs_stress.c tests/instrumented.h tests/jobs_util.h
tests_test_jobs_stress_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_stress_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_moments_SOURCES = tests/test_jobs_moments.c tests/jobs_util.h
tests_test_jobs_moments_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_moments_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_bursts_SOURCES = tests/test_jobs_bursts.c tests/jobs_util.h
tests_test_jobs_bursts_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_bursts_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_any_SOURCES = tests/test_jobs_any.c tests/jobs_util.h
tests_test_jobs_any_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_any_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_queue_SOURCES = tests/test_jobs_queue.c tests/jobs_util.h tests/nomem.h \
	tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_queue_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_queue_LDFLAGS = $(WRAP_MEMORY) -Wl,--wrap=syscall
tests_test_jobs_queue_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_room_SOURCES = tests/test_jobs_room.c tests/jobs_util.h tests/batch_util.h tests/onnx_text.c \
	tests/onnx_text.h
tests_test_jobs_room_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_room_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_deadline_SOURCES = tests/test_jobs_deadline.c tests/jobs_util.h
tests_test_jobs_deadline_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_deadline_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_stats_SOURCES = tests/test_jobs_stats.c tests/jobs_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_stats_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_stats_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_trace_SOURCES = tests/test_jobs_trace.c tests/trace_util.h tests/jobs_util.h \
	tests/fakecuda_util.c tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_trace_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_test_jobs_trace_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_turns_SOURCES = tests/test_jobs_turns.c
tests_test_jobs_turns_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_turns_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_shared_SOURCES = tests/test_jobs_shared.c tests/batch_util.h tests/jobs_util.h \
	tests/fakecuda_util.c tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_shared_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_shared_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_fleet_SOURCES = tests/test_jobs_fleet.c tests/jobs_util.h tests/nomem.h \
	tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_fleet_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_fleet_LDFLAGS = $(WRAP_MEMORY) -Wl,--wrap=pthread_mutex_lock
tests_test_jobs_fleet_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_submit_SOURCES = tests/test_jobs_submit.c tests/jobs_util.h tests/nomem.h \
	tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_submit_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_submit_LDFLAGS = $(WRAP_MEMORY) -Wl,--wrap=pthread_mutex_lock,--wrap=syscall
tests_test_jobs_submit_LDADD = $(TEST_JOBS) $(TEST_LIBS)
# batches of several jobs
BATCH_TESTS = tests/test_jobs_fit tests/test_jobs_choice tests/test_jobs_sift tests/test_jobs_rows \
	tests/test_jobs_batcher tests/test_gpu_batcher
check_PROGRAMS += $(BATCH_TESTS)
TESTS += $(BATCH_TESTS)
tests_test_jobs_fit_SOURCES = tests/test_jobs_fit.c tests/jobs_util.h
tests_test_jobs_fit_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_fit_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_choice_SOURCES = tests/test_jobs_choice.c tests/jobs_util.h
tests_test_jobs_choice_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_choice_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_sift_SOURCES = tests/test_jobs_sift.c tests/jobs_util.h
tests_test_jobs_sift_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_sift_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_rows_SOURCES = tests/test_jobs_rows.c tests/jobs_util.h tests/nomem.h
tests_test_jobs_rows_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_rows_LDFLAGS = $(WRAP_MEMORY)
tests_test_jobs_rows_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_jobs_batcher_SOURCES = tests/test_jobs_batcher.c tests/batch_util.h tests/jobs_util.h \
	tests/nomem.h tests/onnx_text.c tests/onnx_text.h
tests_test_jobs_batcher_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_jobs_batcher_LDFLAGS = $(WRAP_MEMORY)
tests_test_jobs_batcher_LDADD = $(TEST_JOBS) $(TEST_LIBS)
tests_test_gpu_batcher_SOURCES = tests/test_gpu_batcher.c tests/batch_util.h tests/jobs_util.h \
	tests/fakecuda_util.c tests/fakecuda_util.h tests/onnx_text.c tests/onnx_text.h
tests_test_gpu_batcher_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_batcher_LDADD = $(TEST_JOBS) $(TEST_LIBS)
# The room once more, its steps seen by a model checker (tests/schedules/explore.h); what is not
# listed comes from the library.
check_LTLIBRARIES += tests/libtschedules.la
tests_libtschedules_la_SOURCES = tests/schedules/explore.c tests/schedules/explore.h \
	tests/schedules/machine.c tests/schedules/machine.h tests/schedules/steps.h \
	tests/fakecuda/fiber.c tests/fakecuda/fiber.h tests/onnx_text.c tests/onnx_text.h
tests_test_schedules_SOURCES = tests/test_schedules.c tests/instrumented.h tests/schedules/shadow.h \
	tests/schedules/scenarios.h tests/schedules/futures.c tests/schedules/lanes.c \
	tests/schedules/jobs.c tests/schedules/jobs.h tests/schedules/workers.c \
	tests/schedules/stalls.c tests/schedules/fleets.c tests/schedules/shared.c \
	tests/schedules/batches.c tests/schedules/table.c tests/onnx_text.h \
	tests/schedules/litmus.c tests/schedules/places.c src/base/phase.c src/jobs/future.c \
	src/jobs/completion.c src/jobs/promise.c src/jobs/lane.c src/jobs/lanes.c \
	src/jobs/thread.c src/jobs/queue.c src/jobs/heap.c src/jobs/job.c src/jobs/submit.c \
	src/jobs/keeper.c src/jobs/look.c src/jobs/run.c src/jobs/serve.c src/jobs/executor.c \
	src/jobs/worker.c src/jobs/counters.c src/jobs/batcher.c \
	src/jobs/batch.c src/jobs/batch_run.c src/jobs/flight.c src/jobs/fleet.c src/jobs/route.c src/jobs/move.c \
	src/jobs/stall.c
tests_test_schedules_CPPFLAGS = $(TEST_CPPFLAGS) -include tests/schedules/shadow.h
tests_test_schedules_LDADD = tests/libtschedules.la $(TEST_JOBS) $(TEST_LIBS)
endif
