// Package plaintest is for the tests of several packages of insights: a plain, slow implementation
// of funnels, instants and time zones.
//
//	funnel.go      steps in order          §2.5.2
//	unordered.go   steps in any order      §2.5.2
//	instants.go    instants and time zones
//
// Section numbers refer to testdata/spec/insights.md.
package plaintest
