#!/bin/sh
# One day of a watch: evaluate the deployment, look for drift, and say something only where somebody has to act.
#
#   watch.sh DEPLOYMENT SPEC [DIRECTORY]
#
# First, once: `crosspath run SPEC --reference` in DIRECTORY, with the image or machine, the environment and the MLFLOW_TRACKING_URI
# that this job has. It is what all days are compared with; measured elsewhere, the first day reports another toolchain.
#
# DIRECTORY (default: where SPEC is) holds the store and watch-DEPLOYMENT/ with YYYY-MM.log and the last look (look/: drift.md,
# drift.json, figures). Several deployments may share it, at the same minute, too: each has its own lock, log and look.
# Keys and MLFLOW_TRACKING_URI may stand in its watch.env as NAME=value lines (chmod 600).
#
# The exit code is that of the look: 0 no drift, 1 drift, 3 not enough evidence yet, 4 could not measure, 5 something outside failed.
# 2: the spec, a file, a program or an argument is wrong. Nothing is printed for 0 and 3, so that cron sends no mail then; but
# where the run failed (5), or where there is no reference, it is said each day: that is not a matter of waiting.
# A run that stopped at a limit or failed (3, 4, 5) does not keep the look away: the look says what the day is worth.
set -u

if test $# -lt 2 || test ! -f "$2"; then
  echo "usage: watch.sh DEPLOYMENT SPEC [DIRECTORY]${2:+; there is no file $2}" >&2
  exit 2
fi
deployment=$1
spec=$(realpath "$2")
cd "${3:-$(dirname "$spec")}" || exit 2
# A name may hold spaces and slashes, a file's name no slash; no two names become the same.
own=watch-$(printf '%s' "$deployment" | sed 's/%/%25/g; s/ /%20/g; s|/|%2F|g')
log=$own/$(date -u +%Y-%m).log

note() {
  printf '%s %s: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$deployment" "$*" >> "$log"
}

if test -f watch.env; then
  set -a
  . ./watch.env
  set +a
fi
command -v crosspath > /dev/null || {
  echo "watch.sh: there is no program crosspath on PATH; put the bin of its environment first, as in PATH=/opt/crosspath/.venv/bin:$PATH" >&2
  exit 2
}
command -v flock > /dev/null || { echo "watch.sh: there is no program flock (util-linux)" >&2; exit 2; }
mkdir -p "$own" || exit 2
exec 9> "$own/lock"
if ! flock --nonblock 9; then
  note "the one before still goes on, nothing was started"
  echo "$deployment could not be watched: the job before still goes on" >&2
  exit 4
fi

note "crosspath run $spec"
crosspath run "$spec" > "$own/run.txt" 2>&1 9>&-
ran=$?
cat "$own/run.txt" >> "$log"
note "the run ended with $ran"
case $ran in
  0 | 3 | 4 | 5) ;;
  *)
    echo "$deployment could not be watched: crosspath run ended with $ran"
    tail -n 5 "$own/run.txt"
    exit $ran
    ;;
esac

crosspath drift "$deployment" --output "$own/look" --force > "$own/look.txt" 2> "$own/progress.txt" 9>&-
looked=$?
cat "$own/progress.txt" "$own/look.txt" >> "$log"
note "the look ended with $looked"
failed() {
  echo "the run before it ended with $ran:"
  tail -n 5 "$own/run.txt"
}
case $looked in
  0 | 3)
    # An earlier run of the day may have been fine: what the look says is of that one.
    test $ran -ne 5 || { echo "$deployment: the look ended with $looked"; failed; }
    if test $looked -eq 3 && grep -q '"reference":""' "$own/look/drift.json"; then
      echo "$deployment has no reference, so nothing is compared; measure it once, in the same place: crosspath run $spec --reference"
    fi
    ;;
  *)
    cat "$own/look.txt"
    test $looked -eq 1 || tail -n 5 "$own/progress.txt"
    test $ran -eq 0 || { echo; failed; }
    ;;
esac
exit $looked
