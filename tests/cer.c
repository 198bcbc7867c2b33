/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: cer TRUTH.txt READ.txt: prints the character error rate in percent, spaces ignored, then
 * with them.  For scripts that measure texts; what the numbers mean is in error_rate.h.
 */
#include "error_rate.h"
#include "read_file.h"

#include <string.h>

int main(int argc, char **argv)
{
	char *text[2] = { NULL, NULL };
	double rate[2];
	int result = 1;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: cer TRUTH.txt READ.txt\n");
		return 2;
	}
	for (int i = 0; i < 2; i++) {
		size_t size;

		text[i] = t_read_file(argv[1 + i], &size);
		if (text[i] != NULL && strlen(text[i]) != size) {
			(void)fprintf(stderr, "cer: %s holds a zero byte\n", argv[1 + i]);
			free(text[i]);
			text[i] = NULL;
		}
	}
	if (text[0] != NULL && text[1] != NULL) {
		if (t_error_rate(text[0], text[1], false, &rate[0]) &&
		    t_error_rate(text[0], text[1], true, &rate[1]))
			result = printf("%.2f %.2f\n", rate[0], rate[1]) > 0 ? 0 : 1;
		else
			(void)fprintf(stderr, "cer: out of memory\n");
	}
	free(text[0]);
	free(text[1]);
	return result;
}
