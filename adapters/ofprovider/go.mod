module github.com/bunting-flags/bunting/adapters/ofprovider

go 1.25.0

require (
	github.com/bunting-flags/bunting/flags v0.1.0
	github.com/google/go-cmp v0.7.0
	github.com/open-feature/go-sdk v1.18.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/dlclark/regexp2/v2 v2.12.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	go.uber.org/mock v0.6.0 // indirect
)
