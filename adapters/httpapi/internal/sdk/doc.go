// Package sdk serves flags to SDKs: flags of a person, definitions for local evaluation, remote
// configuration, OFREP, and the scripts of posthog-js.
//
// A [Service] has the endpoints (endpoints.go). The way of a request for flags: flags.go reads and
// decodes it into a flagsBody (body.go, fields.go, query.go), evaluates it, and render.go writes
// the response in the format of the path; evaluated.go counts. ofrep.go does the same for OFREP,
// and ofrepevents.go has its stream of changes. definitions.go, definitionstream.go and
// remoteconfig.go need a key, which [Access] checks (keys.go). scripts.go serves the files of
// posthog-js.
package sdk
