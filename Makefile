# What a developer needs, one line each. make test TESTFLAGS=-v passes flags on to go test.

GOLANGCI = v2.15.0
LINT ?= go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
FUZZTIME ?= 20s
# Packages whose tests write their goldens anew with -update.
GOLDENS = $(shell grep -rlF '"update", false' --include='*_test.go' . | xargs -n1 dirname | sort -u)

# The linker flags of the official releases: without them Helm calls itself v3.22 or v4.3 and,
# for Helm 3, assumes Kubernetes 1.20; with them it is the version of its client-go module.
H3 = helm.sh/helm/v3
H4 = helm.sh/helm/v4
H3VERSION = $(shell go -C tools/helm3 list -m -f '{{.Version}}' $(H3))
H4VERSION = $(shell go -C tools/helm4 list -m -f '{{.Version}}' $(H4))
KUBEMINOR = $(shell go -C tools/helm3 list -m -f '{{.Version}}' k8s.io/client-go | cut -d. -f2)
KUBE3 = $(foreach p,chartutil lint/rules,-X $(H3)/pkg/$(p).k8sVersionMajor=1 -X $(H3)/pkg/$(p).k8sVersionMinor=$(KUBEMINOR))

# Small, and without the paths of this machine.
RELEASE = -trimpath -ldflags '-s -w'

# Static programs, as those that are released: an image holds nothing else.
build e2e bench-argocd tools helm3 helm4 kustomize sops migrations e2e-tools argocd2 argocd3 etcd kubernetes: export CGO_ENABLED = 0

.PHONY: build test race lint bench bench-argocd e2e health oracle flux goldens fuzz tools helm3 helm4 kustomize sops migrations e2e-tools argocd2 argocd3 etcd kubernetes ci

build: ; go build -trimpath -o bin/hallmark ./cmd/hallmark
test: ; go test -timeout 30m $(TESTFLAGS) ./...
race: export CGO_ENABLED = 1
race: ; $(MAKE) --no-print-directory test TESTFLAGS='-race -short'
lint: ; $(LINT) run && cd e2e && $(LINT) run
bench: tools build ; go test ./internal/bench ./plugin/decrypt ./health/library -run '^$$' -bench . -benchtime 1x -timeout 30m -p 1
bench-argocd: tools argocd2 build ; go -C e2e test ./bench -run '^$$' -bench . -benchtime 1x -timeout 30m -v
e2e: e2e-tools build ; go -C e2e test -count=1 -timeout 30m ./...
health: build ; bin/hallmark health test --library '*' --cover 100 --max-time 500ms # no more: what is slower grows faster than its object
oracle: ; go test ./health/compile -run 'TestExpressions$$' -comparisons 10000000 -timeout 0 -v
flux: ; go -C tools/flux test -count=1 ./...
goldens: tools ; go test $(GOLDENS) -update
fuzz: ; grep -rE '^func Fuzz' --include='*_test.go' . | sed -E 's#/[^/]*:func (Fuzz[A-Za-z0-9_]*).*# \1#' | while read -r dir name; do go test $$dir -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; done
tools: helm3 helm4 kustomize sops
helm3: ; go -C tools/helm3 build -trimpath -ldflags '-s -w -X $(H3)/internal/version.version=$(H3VERSION) $(KUBE3)' -o ../../bin/helm3 $(H3)/cmd/helm
helm4: ; go -C tools/helm4 build -trimpath -ldflags '-s -w -X $(H4)/internal/version.version=$(H4VERSION)' -o ../../bin/helm4 $(H4)/cmd/helm
kustomize: ; go -C tools/kustomize build $(RELEASE) -o ../../bin/kustomize sigs.k8s.io/kustomize/kustomize/v5
sops: ; go -C tools/sops build $(RELEASE) -o ../../bin/sops github.com/getsops/sops/v3/cmd/sops
migrations: ; go -C tools/migrations build $(RELEASE) -o ../../bin/migrations .
e2e-tools: helm3 kustomize sops argocd2 argocd3 etcd kubernetes
argocd2: ; go -C tools/argocd2 build $(RELEASE) -o ../../bin/argocd-2.14 github.com/argoproj/argo-cd/v2/cmd
argocd3: ; go -C tools/argocd3 build $(RELEASE) -o ../../bin/argocd-3.2 github.com/argoproj/argo-cd/v3/cmd
etcd: ; go -C tools/etcd build $(RELEASE) -o ../../bin/etcd go.etcd.io/etcd/server/v3
kubernetes: ; go -C tools/kubernetes build $(RELEASE) -o ../../bin k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl
ci: ; .ci/run
