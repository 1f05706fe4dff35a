module github.com/bunting-flags/bunting/adapters/internal/certificates/pebbletest

go 1.26.0

require (
	github.com/bunting-flags/bunting v0.0.0-00010101000000-000000000000
	github.com/letsencrypt/pebble/v2 v2.10.3
	github.com/miekg/dns v1.1.73
)

require (
	github.com/bunting-flags/bunting/adapters/remote v0.1.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	github.com/letsencrypt/challtestsrv v1.4.2 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/bunting-flags/bunting => ../../../..
	github.com/bunting-flags/bunting/adapters/remote => ../../../../adapters/remote
	github.com/bunting-flags/bunting/flags => ../../../../flags
)
