/* SPDX-License-Identifier: BSD-3-Clause */
/** Lines of log on stderr. */
#ifndef NEZHA_OPAL_OUTPUT_H
#define NEZHA_OPAL_OUTPUT_H

/** Writes "[node:pid] nezha: line" and a newline in one write, so that lines of several threads and processes do not
 *  mix. Any thread; takes no lock, allocates nothing; a line beyond about 900 bytes is cut. */
void nezha_output_line(const char *line);

#endif
