// Package sdktest runs PostHog's own clients, unmodified, against the server:
// posthog-go from the module proxy, posthog-node from npm, and posthog-js in a
// browser (package browser); and OpenFeature's SDKs with their official OFREP
// providers, in Node and in the browser, and for Go with our own provider (package
// provider). It is a module of its own, so that none of them
// becomes a requirement of the product.
//
//	go test ./...             posthog-go; needs the module proxy or a filled cache
//	go test -tags sdk ./...   the others too; needs npm, its registry and Chromium
//
// posthog-node runs on Node ^20.20 or >= 22.22; where the machine's is another,
// npm's package node brings one. TestGo_Binary builds the program and asks it
// the same questions.
//
// testdata/project.json holds the projects that are served, testdata/subjects.json
// the people they are asked about: every flag is compared for every subject,
// once as the server answers it and once as the client decides it by itself from
// /flags/definitions. Where a client decides otherwise than the server, known_test.go
// says why; an entry there that is not needed any more fails the test. And
// flags.LocalProblems is held against what the clients do, both ways: a flag that
// a client leaves to the server or decides otherwise must be listed, unless a
// subject's properties are the reason, and what is listed must happen to somebody.
//
// testdata/posthog-go holds the cases of posthog-go's own tests of local evaluation:
// posthoggo_test.go asks posthog-go over our definitions, and a Set, and says where
// the specification decides otherwise.
//
// openapi_test.go holds the descriptions at /api/schema/ against OpenAPI 3.1 and 3.0,
// and requests and answers against them, by description_test.go. generated_test.go has
// them read by Redocly's linter too (openapi.mjs), and makes clients of them with
// oapi-codegen and openapi-typescript, with which the programs of apiclient are built
// and ask the server.
package sdktest
