// Package intake receives events and recordings from SDKs, and serves what their pages read:
// surveys and early access features.
//
// A [Service] has the endpoints. intake.go reads a request and passes its events to capture; it
// accepts recordings and stores nothing. The bodies of protocol v0 are decoded in body.go and
// form.go, those of v1 in v1.go; both use package unpack and the memory of a lease of package
// admission. errors.go has the problems that only this package returns, and pages.go the endpoints
// for pages.
package intake
