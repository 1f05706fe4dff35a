#!/bin/sh
# Checks files of flags and writes a report in Markdown for a comment on a pull request.
#
# usage: report.sh FILE... > report.md
#
# With BUNTING_SERVER and BUNTING_KEY, the report has what `bunting flags apply` would change on the
# server, and how many people would get another value. Exit code 1 if a file has an error.
set -u
most=60000 # bytes of a report: GitHub accepts 65,536 characters in a comment
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1
code=0

# indented prints a file as a block of code, which no text in it can end.
indented() { sed 's/^/    /' "$1"; }

for file in "$@"; do
  printf '\n#### %s\n\n' "$(printf '%s' "$file" | tr -d '\n`' | sed 's/.*/`&`/')"
  if bunting check "$file" > "$work/check" 2>&1; then
    echo "No errors."
  else
    code=1
    echo "**\`bunting check\` reports errors:**"
    echo
    indented "$work/check"
    continue
  fi
  echo
  if [ -z "${BUNTING_KEY:-}" ]; then
    echo "Without a key of the server there is no plan. Pull requests from forks have none."
    continue
  fi
  bunting flags plan "$file" --format markdown > "$work/plan" 2> "$work/problems"
  case $? in
    0 | 2) cat "$work/plan" ;; # 2: there are changes
    *) code=1 && echo "**\`bunting flags plan\` has failed:**" && echo ;;
  esac
  if [ -s "$work/problems" ]; then
    echo
    indented "$work/problems"
  fi
done > "$work/report"

echo '<!-- bunting flags -->'
echo '### Feature flags'
if [ "$(wc -c < "$work/report")" -le "$most" ]; then
  cat "$work/report"
else
  head -c "$most" "$work/report" | sed '$d' # without the line that was cut
  printf '\n…\n\nThe report is longer than a comment can be: run `bunting check` and `bunting flags plan` to read all of it.\n'
fi
exit "$code"
