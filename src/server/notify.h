/* SPDX-License-Identifier: Apache-2.0 */
/* systemd, where it started us: the protocol of sd_notify(3), which needs no library. */
#ifndef PSG_SERVER_NOTIFY_H
#define PSG_SERVER_NOTIFY_H

/* "READY=1", "STOPPING=1", "RELOADING=1", "WATCHDOG=1"; does nothing without systemd. */
void srv_notify(const char *state);

/* How often it wants to hear from us, in milliseconds: half of its limit; -1: never. */
int srv_notify_interval_ms(void);

#endif
