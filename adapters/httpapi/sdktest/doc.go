// Package sdktest runs PostHog's own clients, unmodified, against the server: posthog-go from the
// module proxy, posthog-node from npm, and posthog-js in a browser (package browser); and
// OpenFeature's SDKs with their official OFREP providers, in Node and in the browser, and for Go
// with this repository's provider (package provider). It is a separate module, so that none of them
// becomes a requirement of the product.
//
//	go test ./...             posthog-go; needs the module proxy or a filled cache
//	go test -tags sdk ./...   the others too; needs npm, its registry and Chromium
//
// posthog-node requires Node ^20.20 or >= 22.22; if the machine has another version, npm's package
// node provides one. TestGo_Binary builds the program and sends it the same requests.
//
// testdata/project.json contains the served projects, testdata/subjects.json the subjects: every
// flag is compared for every subject, once as evaluated by the server and once as evaluated by the
// client from /flags/definitions. If a client differs from the server, known_test.go has the
// reason; an entry there that is not needed fails the test. sdklint.Problems is compared with
// the behavior of the clients, in both directions: a flag that a client leaves to the server or
// evaluates differently must be listed, unless a subject's properties are the reason, and every
// listed problem must occur for some subject.
//
// testdata/posthog-go contains the cases of posthog-go's own tests of local evaluation:
// posthoggo_test.go runs them with posthog-go and definitions from the server, and with a Set, and
// lists the cases for which the specification differs.
//
// openapi_test.go checks the descriptions at /api/schema/ against OpenAPI 3.1 and 3.0, and requests
// and responses against them, with description_test.go. generated_test.go also checks them with
// Redocly's linter (openapi.mjs), and generates clients with oapi-codegen and openapi-typescript,
// with which the programs of apiclient are built and send requests to the server.
package sdktest
