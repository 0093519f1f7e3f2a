# Two commands matter: `make demo` and `make test`. They need Go and git.
GO ?= go
# A tool is built by "go tool -n" and run by its path: "go tool" itself succeeds when the tool was killed.
TOOL = tool() { it=$$($(GO) tool -modfile=tools/go.mod -n $$1) && shift && $$it "$$@"; }; tool

# All is built without a C compiler: what proxplane, its tests and the programs that they need have in common is then compiled once.
# The race detector alone needs one.
export CGO_ENABLED = 0

# What "proxplane --version" says: the last tag and how far behind it is, the commit and its time.
VERSION ?= $(or $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null),v0.0.0-dev$(shell git diff --quiet HEAD 2>/dev/null || echo -dirty))
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
BUILT   ?= $(shell git show -s --format=%cI HEAD 2>/dev/null)
CLI = github.com/proxplane/proxplane/cli/version
STAMP = -X $(CLI).version=$(VERSION) -X $(CLI).commit=$(COMMIT) -X $(CLI).built=$(BUILT)

RELEASE = tool() { it=$$($(GO) tool -modfile=tools/release/go.mod -n $$1) && shift && $$it "$$@"; }; tool

.PHONY: release-snapshot release-terraform release-files release-kubernetes release-chart image demo test test-kubernetes test-script test-others test-all tools test-race test-chart test-guest test-guest-nodes test-clients test-terraform test-outside robustness nightly controlplane generate fuzz bench bench-operator bench-terraform bench-karpenter bench-machines bench-sim mutants lint vuln build help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

DEMO ?=
demo: ## see proxplane at work, on a simulated Proxmox (DEMO=cluster: a Kubernetes cluster)
	@echo "building proxplane (the first time takes two minutes on two cores) ..."
	@$(GO) build -ldflags "$(STAMP)" -o bin/proxplane ./cmd/proxplane
	@bin/proxplane demo $(DEMO)

build: ## build bin/proxplane, static: it is its own hookscript on Proxmox hosts
	$(GO) build -ldflags "-s -w $(STAMP)" -o bin/proxplane ./cmd/proxplane

# Three groups of tests run at once; on a machine without a Kubernetes to test with, those that need none come before it is built.
# Stories with a Kubernetes wait more than they compute, and come two suites at a time: each has a control plane and some processes. Those of
# Karpenter, the last, give up on a machine that is too busy. Those of the command line run beside them. The others compute, mostly in
# virtual time: they take what the stories leave.
# Tests collect garbage less often: there is a lot of it, and none of it is big. They are vetted once, before they run, and linked without what
# only debuggers read, which takes half the time.
KUBERNETES = test/kit/controlplane/kubernetes test/chart/helm
WITH_KUBERNETES = ./deploy/crds ./test/operator ./test/machines ./test/join ./test/karpenter
STORIES = $(WITH_KUBERNETES) ./test/script
# What has a target of its own: it takes minutes.
SLOW = ./test/chart ./test/guest ./test/outside ./test/terraform
TEST = env GOGC=400 $(GO) test -vet=off -ldflags=-w -timeout 40m
test: tools ## all tests that are quick
	@echo "vetting and testing (the first time takes some minutes to build) ..."
	$(GO) vet ./...
	@if [ -n "$$($(GO) run ./test/kit/tool/build -missing $(KUBERNETES))" ]; then \
		$(MAKE) --no-print-directory -j2 test-script test-others && \
		echo "building a Kubernetes to test with (some minutes, once) ..." && \
		$(MAKE) --no-print-directory controlplane && $(MAKE) --no-print-directory test-kubernetes; \
	else $(MAKE) --no-print-directory -j3 test-kubernetes test-script test-others; fi

test-kubernetes:
	$(TEST) -p 2 $(WITH_KUBERNETES)

test-script:
	$(TEST) ./test/script

test-others:
	nice $(TEST) -p 3 $$($(GO) list ./... | grep -v $(patsubst .%,-e %$$,$(STORIES) $(SLOW)))

test-all: controlplane ## what "make test" leaves out because it is much like something else: stories on the older Proxmox, privileges left out there, examples with the operator (some minutes)
	PROXPLANE_ALL=1 $(TEST) -p 2 -count=1 -run 'OlderRelease|LeftOut/.*/8[.]4|EveryExampleIsTheSame' ./test/script ./test/operator ./privileges

test-chart: controlplane ## the Helm chart on a Kubernetes: rights, upgrades, every example under its constraints (some minutes)
	@$(GO) run ./test/kit/tool/build test/chart/promql >/dev/null
	$(GO) test -count=1 -timeout 30m ./test/chart

controlplane: ## build the Kubernetes that the operator is tested with (once, some minutes)
	@for set in $(KUBERNETES); do $(GO) run ./test/kit/tool/build $$set >/dev/null || exit 1; done

generate: ## write deploy/crds, the deep copies, docs/reference.md and terraform/docs from the types in api
	$(TOOL) controller-gen object crd:maxDescLen=2000 paths=./api/infra/... output:crd:dir=deploy/crds
	$(TOOL) controller-gen object crd:maxDescLen=2000 paths=./api/karpenter/... output:crd:dir=deploy/crds/karpenter
	$(GO) test ./deploy/crds -run Parsed -update
	$(GO) test ./deploy/crds -run Parsed -update
	$(GO) test ./api/infra/v1beta1 -run Reference -update
	$(GO) test ./terraform -run Registry -update

tools: ## install the programs that tests use beside Go, as root on Debian; else say what is missing
	@test/tools.sh

test-race: ## client, simulator, engine, sites and operator under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./pve/... ./pvesim/... ./engine ./observe ./act ./site ./operator ./kube

nightly: controlplane ## what draws other cases each time, and fails on them: properties, histories, fuzzing, races (hours)
	PROXPLANE_RANDOM=1 $(GO) test -count=1 -timeout 60m ./...
	$(MAKE) robustness BASE=random
	$(MAKE) fuzz
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 120m ./...

test-guest: tools ## guests that really boot, Debian with cloud-init and Ignition too, by manifests and by the Terraform module (some minutes; builds Debian and OpenTofu once)
	$(GO) test -count=1 -v -timeout 60m ./test/guest -debian -tofu

STAGES ?= RealKubelet|RealParts
KEEP ?=
THROUGH ?=
test-guest-nodes: tools controlplane ## guests that become nodes of Kubernetes: a real kubelet with Debian's containerd by our user-data, for MachineDeployments and for Karpenter by kubeadm, and a cluster from one file with the real programs where RKE2 has them (emulated: many minutes; builds a kubelet and a Debian once)
	$(GO) test -count=1 -v -timeout 240m -run '$(STAGES)' ./test/guest -nodes -patience 30m $(if $(KEEP),-keep $(KEEP)) $(if $(THROUGH),-through)

test-clients: ## OpenTofu and go-proxmox against the simulator, and kube-vip's generator (builds them once, some minutes)
	$(GO) test -count=1 -v -timeout 40m -run KubeVIP ./cluster -kube-vip
	cd test/clients && $(GO) test -count=1 -v -timeout 40m .

test-terraform: ## the provider with OpenTofu on the simulator (builds OpenTofu once, some minutes)
	$(GO) test -count=1 -v -timeout 30m ./test/terraform -tofu

KILLS ?= 100
SEED ?= 1
test-outside: controlplane ## proxplane and its operator as processes, killed KILLS times at moments that SEED chooses (some minutes)
	$(GO) test -count=1 -v -timeout 30m ./test/outside -kills $(KILLS) -seed $(SEED)

SEEDS ?= 10000
OPERATOR_SEEDS ?= 2000
IMAGE_SEEDS ?= 500
NEIGHBOUR_SEEDS ?= 2000
BASE ?= 0
robustness: ## SEEDS histories in virtual time, OPERATOR_SEEDS about the operator, IMAGE_SEEDS about images and NEIGHBOUR_SEEDS with somebody hostile, beginning with seed BASE (a number, or random), with the count of all that happened (some minutes)
	@mkdir -p bin
	@base=$(BASE); [ "$$base" != random ] || base=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
	echo "seeds $$base to $$((base + $(SEEDS) - 1)); again: make robustness BASE=$$base SEEDS=$(SEEDS) OPERATOR_SEEDS=$(OPERATOR_SEEDS) IMAGE_SEEDS=$(IMAGE_SEEDS) NEIGHBOUR_SEEDS=$(NEIGHBOUR_SEEDS)"; \
	$(GO) test -count=1 -timeout 120m ./test/robustness -first $$base -seeds $(SEEDS) -operator-seeds $(OPERATOR_SEEDS) -image-seeds $(IMAGE_SEEDS) -neighbour-seeds $(NEIGHBOUR_SEEDS) -census $(CURDIR)/bin/census.txt
	@cat bin/census.txt

EVERY ?= 1
LEAST ?= 90
MUTANTS = $(GO) run ./test/mutants -known test/mutants/known.txt -every $(EVERY)
mutants: ## change plan, act and engine in small ways and print which changes no test notices; fail when fewer than LEAST percent of plan and act are (hours; EVERY=20 tries each 20th change)
	$(MUTANTS) -least $(LEAST) ./act
	$(MUTANTS) -least $(LEAST) -skip 'InAnyWorld$$|^TestConvergesThroughCrashes$$|^TestForesightChangesNothing$$' ./plan
	$(MUTANTS) ./engine

FUZZTIME ?= 60s
fuzz: ## run each fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "fuzz $$pkg $$target ($(FUZZTIME))"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$pkg || exit 1; \
		done; \
	done

bench: ## how long machines take and what they cost, on a simulated cluster (some minutes)
	$(GO) run ./test/bench

bench-operator: controlplane ## what the operator costs with 1,000 and 10,000 machines in a real Kubernetes; writes docs/performance.md (10 minutes)
	$(GO) run ./test/bench/operator

bench-terraform: ## what machines cost with OpenTofu: our provider, and bpg/proxmox beside it; writes docs/performance.md and README.md (10 minutes)
	$(GO) run ./test/bench/terraform

bench-karpenter: controlplane ## what nodes cost that Karpenter makes for 100 pending pods, and 1,000 at rest; writes docs/performance.md
	$(GO) run ./test/bench/nodes -door karpenter

bench-machines: controlplane ## what nodes cost that a MachineDeployment makes, from 0 to 100 replicas; writes docs/performance.md
	$(GO) run ./test/bench/nodes -door machines

bench-sim: ## what requests to the simulator cost, with 100 and with 10,000 VMs
	@echo "measuring for half a minute ..."
	@$(GO) test ./pvesim -run '^$$' -bench '^BenchmarkTable$$' -benchtime 1x | grep -E '^ |FAIL|panic'

release-files: build release-kubernetes ## what packages bring along, and a release beside them: manual pages, completions, the JSON Schema, install.yaml, the chart (into bin/release)
	@mkdir -p bin/release/completions
	@bin/proxplane man bin/release/man
	@bin/proxplane completion bash > bin/release/completions/proxplane.bash
	@bin/proxplane completion zsh > bin/release/completions/_proxplane
	@bin/proxplane completion fish > bin/release/completions/proxplane.fish
	@bin/proxplane schema > bin/release/proxplane.schema.json

# The version of the chart and the image: without the v.
NUMBER = $(VERSION:v%=%)
RELEASE_DIR ?= bin/release
release-kubernetes: ## what a release has for Kubernetes: install.yaml, crds.yaml, the chart, and the chart as an OCI layout (into bin/release)
	@mkdir -p $(RELEASE_DIR) && rm -f $(RELEASE_DIR)/proxplane-*.tgz
	@set -e; helm=$$($(GO) run ./test/kit/tool/build test/chart/helm | cut -d' ' -f2)/helm; chart=$(RELEASE_DIR)/proxplane-$(NUMBER).tgz; \
	"$$helm" package deploy/chart --version $(NUMBER) --app-version $(NUMBER) --destination $(RELEASE_DIR) >/dev/null; \
	printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: proxplane}\n' > $(RELEASE_DIR)/install.yaml; \
	"$$helm" template proxplane "$$chart" -n proxplane --set crds.keep=false | sed -e '/managed-by: Helm$$/d' -e '/helm\.sh\/chart: /d' >> $(RELEASE_DIR)/install.yaml; \
	cat deploy/crds/*.yaml > $(RELEASE_DIR)/crds.yaml; \
	$(GO) run ./deploy/layout "$$chart" $(RELEASE_DIR)/chart

# Where charts are pushed to.
CHART_REPO ?= oci://ghcr.io/proxplane/charts
release-chart: release-kubernetes ## push the chart to CHART_REPO; log in first: helm registry login
	@helm=$$($(GO) run ./test/kit/tool/build test/chart/helm | cut -d' ' -f2)/helm; "$$helm" push $(RELEASE_DIR)/proxplane-$(NUMBER).tgz $(CHART_REPO)

release-snapshot release-terraform image: export VERSION := $(VERSION)
release-snapshot release-terraform image: export COMMIT := $(COMMIT)
release-snapshot release-terraform image: export BUILT := $(BUILT)
release-snapshot: export ROOT := $(CURDIR)
release-snapshot: ## all of a release but publishing it, into dist: archives, deb, rpm, checksums, SBOMs (building goreleaser takes some minutes the first time)
	$(RELEASE) goreleaser release --timeout 6h --snapshot --clean --skip=sign

release-terraform: ## all of a release of the Terraform provider but publishing it, into dist/terraform: zip archives, manifest, checksums, and docs as registries read them
	$(RELEASE) goreleaser release --timeout 6h --snapshot --clean --skip=sign -f .goreleaser.terraform.yaml
	cp -R terraform/docs dist/terraform/docs
	cp terraform-registry-manifest.json dist/terraform/terraform-provider-proxplane_$(NUMBER)_manifest.json

# Where images are pushed to; without it, the image goes into dist/image as an OCI layout.
IMAGE_REPO ?=
image: ## the operator's container image by ko, with its SBOM; to IMAGE_REPO, or into dist/image
	@mkdir -p dist/sbom
ifeq ($(IMAGE_REPO),)
	export KO_DOCKER_REPO=proxplane.local; $(RELEASE) ko build --bare --push=false --oci-layout-path=dist/image --sbom-dir=dist/sbom ./cmd/proxplane
else
	export KO_DOCKER_REPO=$(IMAGE_REPO); $(RELEASE) ko build --bare --tags=$(NUMBER) --platform=linux/amd64,linux/arm64 ./cmd/proxplane
endif

vuln: ## known vulnerabilities in what is linked in, by govulncheck; where its database can't be reached it says so (VULN=required: fails)
	@GO=$(GO) tools/vuln/check.sh

lint: ## golangci-lint, with the settings in .golangci.yml
	@echo "linting (building the linter takes some minutes the first time) ..."
	$(TOOL) golangci-lint run ./...
