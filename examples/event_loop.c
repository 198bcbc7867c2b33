/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages in an event loop: no thread waits for a page.  Finished ones come out of
 * a completion queue, whose descriptor epoll watches beside all else that a
 * server's loop has to do; here that is to tell, each second, what is to come.
 *
 *   cc event_loop.c $(pkg-config --cflags --libs pagesift-gpu) -o event_loop
 *   ./event_loop page.png [MORE...]
 *
 * Prints the lines of each file, in the order in which they are done.  Needs the models.
 */
#include <pagesift/gpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PAGE_BYTES (64 << 20) /* chosen: larger files are cut off, and refused */

static struct {
	psg_worker *worker;
	psg_ocr *ocr;
	psg_completion_queue *queue;
	int epoll;
} loop = { .epoll = -1 };

/* The engine copies the file, so `buffer` is free again at once; `path` names the page later. */
static int submit(char *path, char *buffer, psg_error *error)
{
	psg_job_options options = { .deadline_ns = psg_now_ns() + 60 * PSG_SECOND,
				    .queue = loop.queue,
				    .user = path };
	FILE *file = fopen(path, "rb");
	size_t size;

	if (file == NULL) {
		perror(path);
		return 0;
	}
	size = fread(buffer, 1, PAGE_BYTES, file);
	(void)fclose(file);
	/* Without a future: the queue has the only handle, and pop passes it on. */
	if (psg_ocr_submit(loop.ocr, buffer, size, 0, &options, NULL, error) == PSG_OK)
		return 1;
	(void)fprintf(stderr, "%s: %s\n", path, error->message);
	return 0;
}

static void finish(psg_future *future)
{
	const char *path = psg_future_user(future);
	psg_error error = PSG_ERROR_INIT;
	const psg_page *page;

	if (psg_ocr_page(future, &page, &error) != PSG_OK)
		(void)fprintf(stderr, "%s: %s\n", path, error.message);
	else
		for (size_t i = 0; i < page->n_lines; i++)
			(void)printf("%s: %s\n", path, page->lines[i].text);
	psg_future_release(future);
}

/* Until `left` pages have come out. */
static void run(int left)
{
	while (left > 0) {
		struct epoll_event event;
		psg_future *future;

		if (epoll_wait(loop.epoll, &event, 1, 1000) == 0)
			(void)fprintf(stderr, "%d pages to come\n", left);
		for (; (future = psg_completion_queue_pop(loop.queue)) != NULL; left--)
			finish(future);
	}
}

static int open_loop(psg_error *error)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (psg_worker_open("auto", NULL, &loop.worker, error) != PSG_OK ||
	    psg_ocr_open(&loop.worker, 1, NULL, &loop.ocr, error) != PSG_OK ||
	    psg_completion_queue_create(&loop.queue, error) != PSG_OK)
		return -1;
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(loop.epoll, EPOLL_CTL_ADD, psg_completion_queue_fd(loop.queue), &event) == 0)
		return 0;
	(void)snprintf(error->message, sizeof(error->message), "no epoll descriptor");
	return -1;
}

int main(int argc, char **argv)
{
	psg_error error = PSG_ERROR_INIT;
	char *buffer = malloc(PAGE_BYTES);
	int submitted = 0;

	if (argc < 2 || buffer == NULL || open_loop(&error) != 0) {
		(void)fprintf(stderr, "event_loop FILE...: %s\n", error.message);
	} else {
		for (int i = 1; i < argc; i++)
			submitted += submit(argv[i], buffer, &error);
		run(submitted);
	}
	psg_ocr_close(loop.ocr);
	psg_worker_close(loop.worker);
	psg_completion_queue_destroy(loop.queue);
	(void)close(loop.epoll);
	free(buffer);
	return submitted > 0 && submitted == argc - 1 ? 0 : 1;
}
