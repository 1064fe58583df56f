#!/usr/bin/env bash
# The shell side of both actions. It stands here, beside docker/action.yml, because the image
# carries it too: what a user writes as inputs becomes arguments in one place.
#
#   action.sh start|prepare|verify|report|clean    the steps of action.yml, in containers if possible
#   action.sh inside ALLOW-EMPTY REQUIRE-PROTECTIONS
#       docker/action.yml: all in a row, in the container that the script is in
#
# Inputs come as INPUT_* variables (with _ for -). Exit codes are the program's (README).
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
temporary=${RUNNER_TEMP:-/tmp}
# A folder of this run: `image` (empty: no container), `volume` (where the image brings its own
# environments), `downloads/`, `out/` (all that extension code's container may write),
# `results.json` (taken from there). action.yml hands its name from step to step.
state=${VERIFY_EXT_STATE:-}
cache=${VERIFY_EXT_CACHE:-$temporary/verify-ext-cache}

# What every container gets: nothing that it could use to reach or change the machine.
readonly hardening=(--rm --init --read-only --tmpfs "/tmp:rw,exec,nosuid,nodev" --env HOME=/tmp
  --security-opt no-new-privileges --cap-drop ALL --memory 4g --pids-limit 512)
# The jail changes the user id of extension code and ends its processes; root may do neither without.
readonly jail_needs=(--cap-add SETUID --cap-add SETGID --cap-add KILL)

# --- words for the person who reads the log -----------------------------------------------------

escaped() {
  local text=${1//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '%s' "${text//$'\n'/%0A}"
}

tell() { printf '::%s title=verify-ext::%s\n' "$1" "$(escaped "$2")"; }

set_output() { [[ -z ${GITHUB_OUTPUT:-} ]] || printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

# Stop before anything was verified, with outputs that say so.
refuse() { # exit code, message
  tell error "$2"
  set_output exit-code "$1"
  if [[ $1 == 4 ]]; then set_output decision manual_review; fi
  exit "$1"
}

# Run a command so that nothing it prints is read as a workflow command. Both streams are one:
# the runner reads them apart, and would take a late line of one after the other was released.
quoted() {
  local token code=0
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '::stop-commands::%s\n' "$token"
  supervised "$@" || code=$?
  printf '\n::%s::\n' "$token"
  return "$code"
}

# Run one of the functions below that end in `exec`. A cancelled job signals this script alone:
# hand it on, then wait for what is still written.
supervised() {
  local child code=0
  "$@" 2>&1 &
  child=$!
  trap 'kill -TERM "$child" 2>/dev/null || true' INT TERM
  wait "$child" || code=$?
  while kill -0 "$child" 2>/dev/null; do
    code=0
    wait "$child" || code=$?
  done
  trap - INT TERM
  return "$code"
}

# --- inputs to arguments ------------------------------------------------------------------------

# Print the lines of an input that hold something, without the space around them.
lines_of() { sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d' <<<"$1"; }

is_true() { # input name, value
  case $2 in
    true) return 0 ;;
    false | '') return 1 ;;
  esac
  refuse 2 "The input '$1' must be true or false, and is '$2'."
}

# Fill `harnesses` (flags) and `paths`, relative to the workspace as the container sees it.
read_inputs() {
  local line
  harnesses=() paths=()
  while IFS= read -r line; do harnesses+=(--harness "$line"); done < <(lines_of "${INPUT_HARNESS:-}")
  while IFS= read -r line; do
    if [[ $line == "$GITHUB_WORKSPACE" ]]; then line=.; fi
    paths+=("${line#"$GITHUB_WORKSPACE"/}")
  done < <(lines_of "${INPUT_PATHS:-}")
}

read_options() {
  options=()
  if [[ -n ${INPUT_TIMEOUT:-} ]]; then options+=(--timeout "$INPUT_TIMEOUT"); fi
  if is_true allow-empty "${INPUT_ALLOW_EMPTY:-}"; then options+=(--allow-empty); fi
  if is_true require-protections "${INPUT_REQUIRE_PROTECTIONS:-}"; then options+=(--require-protections); fi
}

# --- start: where it runs -----------------------------------------------------------------------

start() {
  state=$(mktemp -d "$temporary/verify-ext.XXXXXX")
  mkdir -p "$state/out" "$state/downloads" "$cache"
  chmod 755 "$state" "$cache"
  # Writable by the container's root through this group alone (--group-add), which the jail drops.
  chmod 770 "$state/out"
  chmod 777 "$state/downloads"
  set_output state "$state"
  choose_image
  if [[ ! -f $state/volume ]]; then
    set_output cache "$cache"
    set_output cache-key "verify-ext-$(uname -m)-$(environments_digest)"
  fi
}

choose_image() {
  local image=''
  if docker info >/dev/null 2>&1; then
    image=$(find_image) || exit
    use_its_environments "$image"
    prove_mounts "$image"
  elif is_true require-protections "${INPUT_REQUIRE_PROTECTIONS:-}"; then
    refuse 4 "No docker daemon answers here, and 'require-protections' is set: nothing was run."
  else
    tell warning "No docker daemon answers here, so extension code runs on this machine, as this user, without the \
protections of a container. What its jail still keeps from it is under 'protections' in the results. The input \
'require-protections: true' refuses instead."
  fi
  printf '%s' "$image" >"$state/image"
}

# Everything that decides which environments are needed: then a cached set fits, or is no use.
environments_digest() {
  {
    printf '%s\n' "${INPUT_HARNESS:-}" "${RELEASED_IMAGE:-}" "${INPUT_IMAGE:-}"
    find "$root/src" "$root/pyproject.toml" -type f ! -name '*.pyc' -print0 | sort -z | xargs -0 cat
    find "$GITHUB_WORKSPACE" -name .git -prune -o \
      -type f \( -name 'requirements*.txt' -o -name pyproject.toml \) -print0 | sort -z | xargs -0 -r cat
  } | sha256sum | cut -c1-32
}

# Print the image to run: the one named, the one of this release, or one built from this checkout.
find_image() {
  local image=${INPUT_IMAGE:-${RELEASED_IMAGE:-}}
  if [[ -z $image ]]; then
    DOCKER_BUILDKIT=1 docker build --quiet --network host --target core "$root" ||
      refuse 4 "The image could not be built from the action's checkout (docker's own words are above). Not your change." >&2
    return
  fi
  if ! docker image inspect "$image" >/dev/null 2>&1; then
    for pause in 2 8 0; do
      docker pull --quiet "$image" >&2 && break
      if [[ $pause == 0 ]]; then refuse 4 "The image $image could not be pulled, three times. Not your change." >&2; fi
      sleep "$pause"
    done
  fi
  printf '%s\n' "$image"
}

# An image for offline use has environments inside. A mounted folder would hide them; a volume
# starts as a copy of them, to which `prepare` can add.
use_its_environments() { # image
  local brought
  brought=$(docker image inspect --format '{{ index .Config.Labels "verify-ext.harnesses" }}' "$1")
  if [[ -n $brought ]]; then docker volume create >"$state/volume"; fi
}

# In a job container, docker's daemon sees other folders than this script: it would mount empty ones.
prove_mounts() {
  local sentinel found=0
  sentinel=$(mktemp "$GITHUB_WORKSPACE/.verify-ext.XXXXXX") ||
    refuse 4 "The workspace $GITHUB_WORKSPACE cannot be written, so it cannot be proved that a container sees it."
  chmod 644 "$sentinel"
  # The words in single quotes are for the container's shell.
  # shellcheck disable=SC2016
  (in_jail "$1" --entrypoint sh -- -c 'test -r "$1" && touch /results/sentinel' sh "${sentinel##*/}") || found=$?
  rm -f "$sentinel"
  if [[ $found != 0 || ! -f $state/out/sentinel ]]; then
    refuse 4 "The container does not see the workspace or cannot write its results (docker's own words, if any, \
are above). This job itself seems to run in a container (jobs.<job>.container, or a Kubernetes runner): there use the other door to the same image: the action in \
the folder docker (docker/action.yml), 'uses: OWNER/verify-ext/docker@REF'. Its protections are fewer; README says which."
  fi
  rm -f "$state/out/sentinel"
}

# --- the three runs -----------------------------------------------------------------------------

mount() { printf 'type=bind,source=%s,target=%s%s' "$1" "$2" "${3:+,$3}"; }

cache_mount() { # readonly or nothing
  if [[ -f $state/volume ]]; then
    printf 'type=volume,source=%s,target=/var/cache/verify-ext%s' "$(cat "$state/volume")" "${1:+,$1}"
  else
    mount "$cache" /var/cache/verify-ext "${1:-}"
  fi
}

in_jail() { # image, more docker flags --, arguments
  local image=$1 flags=()
  shift
  while [[ $1 != -- ]]; do flags+=("$1") && shift; done
  shift
  exec docker run --network none "${hardening[@]}" "${jail_needs[@]}" --group-add "$(id -g)" \
    --mount "$(mount "$GITHUB_WORKSPACE" /github/workspace readonly)" \
    --mount "$(cache_mount readonly)" \
    --mount "$(mount "$state/out" /results)" \
    "${flags[@]}" "$image" "$@"
}

# The index is reached as the machine reaches it: through its resolver, proxy and certificates.
in_network() { # image, arguments
  local image=$1 flags=() name
  shift
  for name in $(compgen -e); do
    case $name in
      HTTP_PROXY | HTTPS_PROXY | NO_PROXY | http_proxy | https_proxy | no_proxy) flags+=(--env "$name") ;;
      UV_DEFAULT_INDEX | UV_INDEX | UV_INDEX_* | UV_EXTRA_INDEX_URL) flags+=(--env "$name") ;;
    esac
  done
  if [[ -f ${SSL_CERT_FILE:-} ]]; then
    flags+=(--mount "$(mount "$(readlink -f "$SSL_CERT_FILE")" /etc/ssl/certs/ca-certificates.crt readonly)")
  fi
  # Its own environments belong to the image's root, which stays without any capability.
  if [[ ! -f $state/volume ]]; then flags+=(--user "$(id -u):$(id -g)"); fi
  exec docker run --network host "${hardening[@]}" "${flags[@]}" \
    --mount "$(mount "$GITHUB_WORKSPACE" /github/workspace readonly)" \
    --mount "$(cache_mount)" \
    --mount "$(mount "$state/downloads" /downloads)" --env UV_CACHE_DIR=/downloads \
    "$image" "$@"
}

reporting() { # image, arguments
  local image=$1 flags=() name
  shift
  for name in GITHUB_OUTPUT GITHUB_STEP_SUMMARY; do
    if [[ -f ${!name:-} ]]; then
      flags+=(--mount "$(mount "${!name}" "/github/file_commands/$name")" --env "$name=/github/file_commands/$name")
    fi
  done
  exec docker run --network none "${hardening[@]}" --user "$(id -u):$(id -g)" "${flags[@]}" --env GITHUB_ACTIONS \
    --mount "$(mount "$state/results.json" /results/results.json readonly)" \
    "$image" "$@"
}

# Without a container: what holds a token is taken away from the runs that need none.
directly() {
  unset GITHUB_TOKEN ACTIONS_RUNTIME_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL
  unset GITHUB_ACTIONS GITHUB_OUTPUT GITHUB_STEP_SUMMARY GITHUB_ENV GITHUB_PATH GITHUB_STATE
  reporting_directly "$@"
}

reporting_directly() {
  cd -- "$GITHUB_WORKSPACE"
  VERIFY_EXT_CACHE=$cache exec "$root/entrypoint" "$@"
}

prepare() {
  local image code=0
  image=$(cat "$state/image")
  read_inputs
  set -- prepare "${harnesses[@]}" -- "${paths[@]}"
  echo '::group::verify-ext: prepare the harness environments'
  if [[ -n $image ]]; then quoted in_network "$image" "$@" || code=$?; else quoted directly "$@" || code=$?; fi
  echo '::endgroup::'
  # What could not be prepared is for `verify` to judge: it says which extension lacks what.
  if [[ $code == 0 ]]; then set_output prepared true; else echo "prepare ended with exit code $code"; fi
}

verify() {
  local image code=0
  image=$(cat "$state/image")
  read_inputs
  read_options
  set -- verify "${options[@]}" "${harnesses[@]}"
  echo '::group::verify-ext: verify'
  if [[ -n $image ]]; then
    quoted in_jail "$image" -- "$@" --output /results/results.json -- "${paths[@]}" || code=$?
  else
    quoted directly "$@" --output "$state/out/results.json" -- "${paths[@]}" || code=$?
  fi
  echo '::endgroup::'
  case $code in
    125 | 126 | 127 | 137) # docker could not run it, or the kernel ended it for want of memory
      echo "verify was not run to its end (exit code $code)"
      code=4
      ;;
  esac
  printf '%s' "$code" >"$state/verify-exit-code"
}

# The exit code is the gate's, which `report` computes anew. Where that would be a success that
# `verify` did not see, or there are no results, it is that of `verify`.
report() {
  local image verified code=0 results=$state/out/results.json
  image=$(cat "$state/image")
  verified=$(cat "$state/verify-exit-code" 2>/dev/null) || verified=5
  if [[ ! -f $results || -L $results ]]; then
    if [[ $verified == 0 ]]; then verified=5; fi
    refuse "$verified" "There are no results: 'verify' ended with exit code $verified. Its own words are above."
  fi
  cp -- "$results" "$state/results.json"
  chmod 644 "$state/results.json"
  set_output results "$state/results.json"
  if [[ -n $image ]]; then
    supervised reporting "$image" report /results/results.json || code=$?
  else
    supervised reporting_directly report "$state/results.json" || code=$?
  fi
  if [[ $code == 0 && $verified != 0 ]]; then
    refuse "$verified" "'verify' ended with exit code $verified, though its results are those of a success."
  fi
  return "$code"
}

# What a container wrote as root lies in folders of ours; below them, only root can remove it.
clean() {
  local folders=("${state:?}/out" "$state/downloads")
  if ! rm -rf "${folders[@]}" 2>/dev/null; then
    docker run "${hardening[@]}" --cap-add DAC_OVERRIDE --network none --mount "$(mount "$state" /state)" \
      --entrypoint find "$(cat "$state/image")" /state/out /state/downloads -mindepth 1 -delete
    rm -rf "${folders[@]}"
  fi
  if [[ -f $state/volume ]]; then docker volume rm "$(cat "$state/volume")" >/dev/null; fi
}

# --- docker/action.yml --------------------------------------------------------------------------

inside() { # allow-empty, require-protections
  local code=0
  INPUT_ALLOW_EMPTY=$1
  INPUT_REQUIRE_PROTECTIONS=$2
  tell notice "Reduced protections: extension code runs in the container that the runner made, which has the network, \
docker's socket and the runner's own token. The jail alone keeps them from it."
  state=$(mktemp -d "$temporary/verify-ext.XXXXXX")
  mkdir "$state/out"
  : >"$state/image"
  prepare
  verify
  report || code=$?
  clean
  return "$code"
}

case ${1:-} in
  start | prepare | verify | report | clean | inside) "$@" ;;
  *)
    echo "usage: action.sh start|prepare|verify|report|clean|inside" >&2
    exit 2
    ;;
esac
