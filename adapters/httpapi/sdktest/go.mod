module github.com/bunting-flags/bunting/adapters/httpapi/sdktest

go 1.26.8

require (
	github.com/bunting-flags/bunting v0.0.0-00010101000000-000000000000
	github.com/google/go-cmp v0.7.0
	github.com/posthog/posthog-go v1.27.0
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/dlclark/regexp2/v2 v2.12.0 // indirect
	github.com/go-chi/chi/v5 v5.5.0 // indirect
	github.com/goccy/go-json v0.10.6 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/oschwald/geoip2-golang/v2 v2.5.0 // indirect
	github.com/oschwald/maxminddb-golang/v2 v2.8.0 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	github.com/swaggest/jsonschema-go v0.3.74 // indirect
	github.com/swaggest/refl v1.3.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/bunting-flags/bunting => ../../..
