// Command vettool analyzes Go packages for "go vet". The script .ci/lint/run builds it and
// runs it over all modules of the repository. For some packages, or with some analyzers:
//
//	.ci/lint/run ./flags/...
//	go vet -vettool=.ci/lint/cache/vettool -only=revive,SA1019 ./flags/...
//
// The go command calls it once per package, and keeps what it said in the build cache until
// the package, its imports, or the program change: a second run takes seconds.
//
// It has the analyzers of a plain "go vet", staticcheck's default checks, errorlint,
// unparam, revive with the rules of revive.toml, and those of this repository, such as
// that no test is timed.
//
// A comment at the end of a line lets findings of that line pass. It names rules or groups
// of them, and gives the reason:
//
//	return errors.New("No.") //nolint:ST1005 // the text of the API
//
// Findings that cannot be mended yet are in suite/left.go. An entry that is not needed any
// more is a finding.
//
// A new rule is an analyzer of golang.org/x/tools/go/analysis, in a package with tests of
// what it reports and what it does not, and a line in suite/suite.go.
//
// # Dependencies
//
// Go vet calls a tool for all dependencies as well, so that facts about them are known.
// Packages of others are neither parsed nor type-checked here, with two exceptions. Where
// one mentions "Deprecated: ", the declarations are looked at, without function bodies,
// for staticcheck's SA1019. Of a few packages of the standard library it is found out
// which functions never return: see neverReturning in suite/suite.go.
//
// Three things are not known, then: functions of other modules that format like Printf
// (those of the standard library are known to the printf analyzer itself), which of their
// functions are pure, and which never return nil.
package main

import (
	"github.com/bunting-flags/bunting/ci/lint/suite"
	"github.com/bunting-flags/bunting/ci/lint/unit"
)

func main() { unit.Main(suite.Suite()) }
