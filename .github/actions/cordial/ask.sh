# Run cordial with $ARGUMENTS; write its answer to the step's summary and to a file.
set -u
if [ -n "${VERSION:-}" ]; then
  pip install --quiet "$VERSION" || exit
fi
# Words are split as a shell does, quotes count; nothing is expanded or run.
mapfile -d '' -t words < <(python -c \
  'import os, shlex; print(*shlex.split(os.environ["ARGUMENTS"]), sep="\0", end="\0")' 2>/dev/null)
if ! wait "$!"; then
  echo "A quote in the arguments is not closed: $ARGUMENTS" >&2
  exit 2
fi
summary="${RUNNER_TEMP:-$PWD}/cordial-summary.md"
status=0
cordial "${words[@]}" --format markdown > "$summary" || status=$?
cat "$summary"
cat "$summary" >> "$GITHUB_STEP_SUMMARY"
printf 'status=%s\nsummary=%s\n' "$status" "$summary" >> "$GITHUB_OUTPUT"
if [ "$status" = 4 ] && [ "${OPEN:-fail}" = pass ]; then
  exit 0
fi
exit "$status"
