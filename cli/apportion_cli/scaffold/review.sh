# Runs in the directory of the base branch. `$head`: directory of the change; `$policy`: path in both directories;
# `$report`: output; "$@": options.
for snapshot in ci/snapshots/*/*.json; do
  cluster=${snapshot#ci/snapshots/}
  if [ -f "$snapshot" ]; then set -- "$@" --snapshot "${cluster%.json}=$snapshot"; fi
done
rm -rf "$report"
code=0
apportion review "$policy" "$head/$policy" --time-limit 30s --memory-limit 2Gi -o text -o "markdown=$report" "$@" || code=$?
if [ ! -s "$report" ]; then
  printf '%s\n%s\n' '<!-- apportion:review -->' '### 🔴 This change could not be reviewed' > "$report"
  printf '\n`apportion review` exited with code %s; see the log of its job.\n' "$code" >> "$report"
fi
# 10: the policies differ. Errors and failed gates (11) fail the job.
case $code in 0 | 10) ;; *) exit "$code" ;; esac
