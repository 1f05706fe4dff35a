// Package sdklint finds flags that SDKs with local evaluation cannot evaluate, or evaluate by
// other rules than the server (§11).
//
// [Problems] is the entry, in lint.go: it applies the rules of rules.go to each flag, to the
// requirements of its conditions and to the cohorts that these refer to. families.go groups the
// operators by how SDKs implement them, values.go describes how each SDK reads operators and
// values, and portable.go which regular expressions posthog-node evaluates. check.go has the types
// that they share, and the interface through which package flags answers questions about the
// payload.
package sdklint
