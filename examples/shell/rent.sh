#!/bin/sh
# Rents a GPU with curl and sed, as scripts for the earlier service do: posts, and asks again until it is so.
# OSTLER_URL says where Ostler is, OSTLER_KEY is sent if it is set, WEBHOOK_URL is called back if it is set.
set -eu
server=${OSTLER_URL:-http://127.0.0.1:3000}
name=${1:-example-shell}
webhook=${WEBHOOK_URL:+,\"webhookUrl\":\"$WEBHOOK_URL\"}
order='"productName":"RTX 4090 24GB","templateId":"102","gpuNum":1,"rootfsSize":60,"region":"CN-HK-01"'
check='"timeoutMs":10000,"retryAttempts":3,"retryDelayMs":500,"maxWaitTimeMs":300000,"targetPort":8888'
health="\"targetPort\":8888,\"healthCheckConfig\":{$check}"

call() { # method, path, body
    curl --silent --show-error --fail-with-body --max-time 30 --request "$1" \
        ${OSTLER_KEY:+--header "Authorization: Bearer $OSTLER_KEY"} \
        ${3:+--header "Content-Type: application/json" --data "$3"} "$server$2"
}

first() { # the first text of a field, out of JSON on stdin; where jq is installed it does this better
    grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | sed 's/^[^:]*: *"\(.*\)"$/\1/'
}

until_it_is() { # status
    tries=0
    while [ $tries -lt 2000 ]; do
        tries=$((tries + 1))
        details=$(call GET "/api/instances/$id")
        status=$(echo "$details" | first status)
        if [ "$status" = "$1" ]; then return; fi
        if [ "$status" = failed ]; then break; fi
        sleep "${POLL_SECONDS:-5}"
    done
    echo "$id is $status, not $1: $details" >&2
    exit 1
}

show() {
    echo "ssh $(echo "$details" | first ssh)"
    echo "$details" | grep -o '{"port":[^}]*"type":[^}]*}' |
        sed 's/.*"port": *\([0-9]*\).*"endpoint": *"\([^"]*\)".*"type": *"\([^"]*\)".*/port \1 \3 \2/'
}

answer=$(call POST /api/instances "{\"name\":\"$name\",$order$webhook}")
id=$(echo "$answer" | first instanceId)
echo "created $id"
until_it_is running
show
call POST "/api/instances/$id/stop" >/dev/null
until_it_is exited
call POST "/api/instances/$id/start" "{$health$webhook}" >/dev/null
until_it_is ready
echo "ready, started by id"
call POST /api/instances/stop "{\"instanceName\":\"$name\"}" >/dev/null
until_it_is exited
call POST /api/instances/start "{\"instanceName\":\"$name\",$health$webhook}" >/dev/null
until_it_is ready
show
echo "ready, started by name"
call DELETE "/api/instances/$id" >/dev/null
until_it_is terminated
echo "terminated"
