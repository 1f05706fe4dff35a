module github.com/bunting-flags/bunting/flags

go 1.25.0

require (
	github.com/dlclark/regexp2/v2 v2.12.0
	github.com/google/go-cmp v0.7.0
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/spaolacci/murmur3 v1.1.0
	go.uber.org/goleak v1.3.0
)
