/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kJson = 256, kEach, kRest, kCorrupt, kSettle, kExtra };
static const double kMostRest = 60;  // seconds
enum { kMaxExtra = 8, kCommon = 15 };

static const char* const kTypes[] = {"float", "double", "int", "long"};
static const char* const kOps[] = {"sum", "max", "min"};

static const char kUsage[] =
    "  -m, --message-size MIN:MAX   powers of two from MIN to MAX bytes (4:1M)\n"
    "  -s, --sizes LIST             these sizes instead, as in 4,1K,64M\n"
    "  -i, --iterations N           measured calls per size (1000, above 8 KiB 100)\n"
    "  -x, --warmup N               calls before them (200, above 8 KiB 10)\n"
    "  -T, --time SECONDS           per size; N follows from it where -i and -x are not given\n"
    "  -f, --full                   also the least and the most of the ranks, and the calls\n"
    "  -t, --type TYPE              float, double, int or long\n"
    "  -o, --op OP                  sum, max or min\n"
    "  -I, --in-place               MPI_IN_PLACE\n"
    "      --json                   one JSON object per line instead of the table\n"
    "      --each                   with --json, the time of every measured call as well\n"
    "      --rest MILLISECONDS      at least, between a call's end and the next one\n"
    "      --settle                 with -T, sizes up to 64 KiB are called until they get no faster before\n"
    "                               they are measured\n"
    "      --corrupt RANK:CALL:ELEMENT  spoil one result, to see that it is found\n"
    "  -h, --help\n";

const char* bench_type_name(enum bench_type type) { return kTypes[type]; }
const char* bench_op_name(enum bench_op op) { return kOps[op]; }

size_t bench_largest(const struct bench_options* options) {
  size_t largest = 0;
  for (int i = 0; i < options->size_count; i++) largest = options->sizes[i] > largest ? options->sizes[i] : largest;
  return largest;
}

bool bench_parse_size(const char* text, size_t* bytes) {
  char* end = NULL;
  errno = 0;
  const unsigned long long number = strtoull(text, &end, 10);
  if (end == text || errno != 0 || text[0] == '-') return false;
  int shift = 0;
  if (*end == 'K' || *end == 'k') shift = 10;
  if (*end == 'M' || *end == 'm') shift = 20;
  if (*end == 'G' || *end == 'g') shift = 30;
  if (end[shift != 0] != '\0' || number == 0 || number > (SIZE_MAX >> shift)) return false;
  *bytes = (size_t)number << shift;
  return true;
}

static bool add_size(struct bench_options* o, size_t bytes) {
  if (o->size_count == BENCH_MAX_SIZES) return false;
  o->sizes[o->size_count++] = bytes;
  return true;
}

static bool parse_range(const char* text, struct bench_options* o) {
  char copy[64];
  if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) return false;
  char* colon = strchr(copy, ':');
  size_t low = 4, high;
  if (colon != NULL) *colon = '\0';
  if (colon != NULL && *copy != '\0' && !bench_parse_size(copy, &low)) return false;
  if (!bench_parse_size(colon != NULL ? colon + 1 : copy, &high) || high < low) return false;
  o->size_count = 0;
  for (size_t s = low; s <= high; s *= 2) {
    if (!add_size(o, s)) return false;
    if (s > SIZE_MAX / 2) break;
  }
  return true;
}

static bool parse_list(const char* text, struct bench_options* o) {
  char *copy = strdup(text), *rest = NULL;
  bool good = copy != NULL;
  o->size_count = 0;
  for (char* word = good ? strtok_r(copy, ",", &rest) : NULL; good && word; word = strtok_r(NULL, ",", &rest)) {
    size_t bytes;
    good = bench_parse_size(word, &bytes) && add_size(o, bytes);
  }
  free(copy);
  return good && o->size_count > 0;
}

static bool parse_word(const char* text, const char* const* words, int count, int* which) {
  for (int i = 0; i < count; i++) {
    if (strcmp(text, words[i]) == 0) {
      *which = i;
      return true;
    }
  }
  return false;
}

static bool parse_count(const char* text, long* count) {
  char* end = NULL;
  errno = 0;
  *count = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *count >= 0;
}

static bool parse_corrupt(const char* text, struct bench_options* o) {
  unsigned long long call, element;
  char after;
  if (sscanf(text, "%d:%llu:%llu%c", &o->corrupt_rank, &call, &element, &after) != 3) return false;
  o->corrupt_call = call;
  o->corrupt_element = element;
  return true;
}

static bool parse_one(int letter, const char* value, const struct bench_extra* extra, struct bench_options* o) {
  int word = 0;
  char* end = NULL;
  switch (letter) {
    case 'm':
      return parse_range(value, o);
    case 's':
      return parse_list(value, o);
    case 'i':
      return parse_count(value, &o->iterations) && o->iterations > 0;
    case 'x':
      return parse_count(value, &o->warmup);
    case 'T':
      o->budget = strtod(value, &end);
      return end != value && *end == '\0' && o->budget > 0;
    case kRest:
      o->rest = strtod(value, &end) / 1e3;
      return end != value && *end == '\0' && o->rest >= 0 && o->rest <= kMostRest;
    case 'f':
      o->full = true;
      return true;
    case 'I':
      o->in_place = true;
      return true;
    case kJson:
      o->json = true;
      return true;
    case kEach:
      o->each = true;
      return true;
    case kSettle:
      o->settle = true;
      return true;
    case kCorrupt:
      return parse_corrupt(value, o);
    case 't':
      if (!parse_word(value, kTypes, 4, &word)) return false;
      o->type = (enum bench_type)word;
      return true;
    case 'o':
      if (!parse_word(value, kOps, 3, &word)) return false;
      o->op = (enum bench_op)word;
      return true;
    default:
      *extra[letter - kExtra].value = value;
      return true;
  }
}

static void print_help(const char* program, const struct bench_extra* extra) {
  printf("usage: mpirun ... %s [options]\n%s", program, kUsage);
  for (; extra->name != NULL; extra++) printf("      --%s %s\n", extra->name, extra->help);
}

static void set_defaults(struct bench_options* o) {
  memset(o, 0, sizeof *o);
  o->warmup = -1;
  o->corrupt_rank = -1;
  (void)parse_range("4:1M", o);
}

enum bench_parsed bench_parse(int argc, char** argv, const struct bench_extra* extra, bool speak,
                              struct bench_options* o) {
  struct option table[kCommon + kMaxExtra + 1] = {
      {"message-size", required_argument, NULL, 'm'}, {"sizes", required_argument, NULL, 's'},
      {"iterations", required_argument, NULL, 'i'},   {"warmup", required_argument, NULL, 'x'},
      {"time", required_argument, NULL, 'T'},         {"full", no_argument, NULL, 'f'},
      {"type", required_argument, NULL, 't'},         {"op", required_argument, NULL, 'o'},
      {"in-place", no_argument, NULL, 'I'},           {"json", no_argument, NULL, kJson},
      {"each", no_argument, NULL, kEach},             {"corrupt", required_argument, NULL, kCorrupt},
      {"settle", no_argument, NULL, kSettle},         {"rest", required_argument, NULL, kRest},
      {"help", no_argument, NULL, 'h'}};
  for (int i = 0; i < kMaxExtra && extra[i].name != NULL; i++)
    table[kCommon + i] = (struct option){extra[i].name, required_argument, NULL, kExtra + i};

  set_defaults(o);
  opterr = speak;
  for (int letter; (letter = getopt_long(argc, argv, "m:s:i:x:T:ft:o:Ih", table, NULL)) != -1;) {
    if (letter == 'h') {
      if (speak) print_help(argv[0], extra);
      return BENCH_HELP;
    }
    if (letter == '?') return BENCH_BAD;
    if (!parse_one(letter, optarg, extra, o)) {
      if (speak) fprintf(stderr, "%s: cannot use \"%s\" here; --help lists the options\n", argv[0], optarg);
      return BENCH_BAD;
    }
  }
  if (optind < argc && speak) fprintf(stderr, "%s: unexpected argument \"%s\"\n", argv[0], argv[optind]);
  return optind < argc ? BENCH_BAD : BENCH_RUN;
}
