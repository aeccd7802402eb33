if [ ! -f "$RUNNER_TEMP/comment.md" ]; then exit 0; fi
printf '%s\n' "$NUMBER" > "$RUNNER_TEMP/number"
cat "$RUNNER_TEMP/comment.md" >> "$GITHUB_STEP_SUMMARY"
