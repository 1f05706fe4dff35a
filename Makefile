.PHONY: run test quick bench lint fmt tidy

run: ## serve the demo flags
	go run ./cmd/bunting serve --definitions testdata/demo.json

test: ## everything, with what it needs
	.ci/test

quick: ## what needs nothing but Go
	go vet work && go test work

bench: ## our speed beside other engines
	cd bench && go run ./report

lint:
	.ci/lint/run

fmt:
	gofmt -w $$(git ls-files '*.go')

tidy: ## go.mod and go.sum of every module
	.ci/tidy
