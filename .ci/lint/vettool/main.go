// Command vettool analyzes Go packages for "go vet". The script .ci/lint/run builds it and runs it
// on all modules of the repository. For some packages, or with some analyzers:
//
//	.ci/lint/run ./flags/...
//	go vet -vettool=.ci/lint/cache/vettool -only=revive,SA1019 ./flags/...
//
// The go command runs it for each package, and caches its output in the build cache until the
// package, its imports, or the program change: a second run is done in seconds.
//
// It contains the analyzers of a plain "go vet", staticcheck's default checks, errorlint, unparam,
// revive with the rules of revive.toml, and analyzers of this repository, for example the one that
// rejects time limits in tests.
//
// A comment at the end of a line excludes findings of that line. It names rules or groups of rules,
// and the reason:
//
//	return errors.New("No.") //nolint:ST1005 // the text of the API
//
// Findings that cannot be fixed yet are in suite/left.go. An unused entry is a finding.
//
// A new rule is an analyzer of golang.org/x/tools/go/analysis, in a package with tests of positive
// and negative examples, and a line in suite/suite.go.
//
// # Dependencies
//
// Go vet also runs a tool for all dependencies, to obtain facts about them. Packages of other
// organizations are neither parsed nor type-checked here, with two exceptions. If one contains
// "Deprecated: ", its declarations are checked, without function bodies, for staticcheck's SA1019.
// For a few packages of the standard library, the functions that never return are determined: see
// neverReturning in suite/suite.go.
//
// As a consequence, three facts about functions of other modules are not available: which of them
// format like Printf (the printf analyzer itself lists the functions of the standard library),
// which are pure, and which never return nil.
package main

import (
	"github.com/bunting-flags/bunting/ci/lint/suite"
	"github.com/bunting-flags/bunting/ci/lint/unit"
)

func main() { unit.Main(suite.Suite()) }
