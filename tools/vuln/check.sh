#!/usr/bin/env bash
# Looks for known vulnerabilities in what is linked into proxplane. The database is that of
# https://vuln.go.dev, or a copy that GOVULNDB names (file:///path). Where it, or govulncheck
# itself, can't be had, nothing is checked and the last line says so; with VULN=required that
# is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."

unchecked() {
	echo "NOT CHECKED: $1"
	[ "${VULN:-}" != required ]
	exit
}

db=${GOVULNDB:-https://vuln.go.dev}
mkdir -p bin
said=$("${GO:-go}" build -modfile=tools/vuln/go.mod -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck 2>&1) ||
	unchecked "govulncheck can't be built: $said"

# A small package tells whether the database answers, before all the others are read.
if ! said=$(bin/govulncheck -db "$db" ./model 2>&1) && [[ $said == *"fetching vulnerabilities"* ]]; then
	unchecked "the vulnerability database can't be reached: ${said##*fetching vulnerabilities: }"
fi
exec bin/govulncheck -db "$db" ./cmd/...
