.PHONY: run test quick bench lint fmt

run: ## serve the demo flags
	go run ./cmd/bunting serve --definitions testdata/demo.json

test: ## everything, with what it needs
	.ci/test

quick: ## what needs nothing but Go
	go vet ./... && go test ./...

bench: ## our speed beside other engines
	cd bench && go run ./report

lint:
	golangci-lint run ./...

fmt:
	gofmt -w $$(git ls-files '*.go')
