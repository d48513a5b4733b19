/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_print.h"

#include <stdio.h>

static void print_json_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else if ((unsigned char)*text >= ' ')
      putchar(*text);
  }
  putchar('"');
}

static void print_detail(const char* detail) {
  if (detail != NULL && *detail != '\0') printf(",%s", detail);
  puts("}");
  fflush(stdout);
}

static void print_each(const struct bench_result* r) {
  if (r->each == NULL) return;
  for (long i = 0; i < r->iterations; i++) printf("%s%.1f", i == 0 ? ",\"each_us\":[" : ",", r->each[i]);
  putchar(']');
}

void bench_print_header(const struct bench_options* o, const char* title, const char* library, int ranks,
                        const char* detail) {
  if (o->json) {
    printf("{\"kind\":\"start\",\"version\":\"%s\",\"title\":", NEZHA_VERSION);
    print_json_text(title);
    printf(",\"library\":");
    print_json_text(library);
    printf(",\"ranks\":%d,\"type\":\"%s\",\"op\":\"%s\",\"in_place\":%s", ranks, bench_type_name(o->type),
           bench_op_name(o->op), o->in_place ? "true" : "false");
    print_detail(detail);
    return;
  }
  printf("\n# %s v%s\n# %d ranks, %s, %s%s, every element of every result checked\n# %s\n%-10s%20s", title,
         NEZHA_VERSION, ranks, bench_type_name(o->type), bench_op_name(o->op), o->in_place ? ", in place" : "", library,
         "# Size", "Avg Latency(us)");
  if (o->full) printf("%20s%20s%12s", "Min Latency(us)", "Max Latency(us)", "Iterations");
  putchar('\n');
  fflush(stdout);
}

void bench_print_result(const struct bench_options* o, const struct bench_result* r, const char* detail) {
  if (o->json) {
    printf(
        "{\"kind\":\"size\",\"size\":%zu,\"avg_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"median_us\":%.3f,"
        "\"pause_us\":%.3f,\"iterations\":%ld,\"warmup\":%ld,\"cpu_s_per_gib\":%.6g,\"cpu_s_per_gib_max\":%.6g,\"peak_kib\":%ld",
        r->bytes, r->average, r->least, r->most, r->median, r->pause, r->iterations, r->warmup, r->cpu_per_gib,
        r->most_cpu_per_gib, r->peak_kib);
    print_each(r);
    print_detail(detail);
    return;
  }
  printf("%-10zu%20.2f", r->bytes, r->average);
  if (o->full) printf("%20.2f%20.2f%12ld", r->least, r->most, r->iterations);
  putchar('\n');
  fflush(stdout);
}
