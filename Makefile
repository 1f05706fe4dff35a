.PHONY: run test quick house bench pictures site lint fmt tidy release

SITE ?= site

run: ## serve the demo flags
	go run ./cmd/bunting serve --definitions testdata/demo.json

test: ## everything that protects a submission; installs what it needs
	.ci/test

quick: ## what changed since origin/main, and what imports it
	.ci/test --quick

house: ## sizes, tests, exports and references, and what they are held to
	GOWORK=off go run -C .ci/lint ./figures $(CURDIR)

bench: ## our speed beside other engines
	cd bench && go run ./report

pictures: ## of the console, for its page and README.md; wants Chromium
	mkdir -p adapters/console/pictures
	CONSOLE_KEEP=$(CURDIR)/adapters/console/pictures go test -C adapters/console/browsertest -count=1 -run TestPictures ./...

site: ## the documentation as a static site: make site SITE=FOLDER
	go run -C adapters/internal/docs/build . '$(abspath $(SITE))'

lint:
	.ci/test --only lint

fmt:
	gofmt -w $$(git ls-files '*.go')

tidy: ## go.mod and go.sum of every module
	.ci/tidy

release: ## checks a release and prints its tags: make release VERSION=v0.1.0
	@.ci/tags '$(VERSION)'
