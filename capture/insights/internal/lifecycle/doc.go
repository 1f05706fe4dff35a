// Package lifecycle answers LifecycleQuery and StickinessQuery: which persons are new, return
// or become inactive, and in how many intervals they are active.
//
//	lifecycle.go    new, returning, resurrecting and dormant persons    §2.7
//	stickiness.go   numbers of active intervals                         §2.8
//	actors.go       the actors behind a number                          §2.9.3, §2.9.4
//
// Section numbers refer to testdata/spec/insights.md.
package lifecycle
