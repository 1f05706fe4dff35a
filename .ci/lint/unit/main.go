// Package unit analyzes one package at a time for the go command: it implements the protocol of "go
// vet -vettool". The go command caches a tool's output for a package in its build cache until the
// package, its imports, or the tool change.
//
// It corresponds to golang.org/x/tools/go/analysis/unitchecker, with three differences. Types of
// imports are read from the compiler's export data, so that dependencies need not be analyzed, or
// even parsed. Findings can be excluded by a comment or by a table. Paths are printed relative to
// the root of the repository.
package unit

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer is an analyzer with the name of its group, such as "vet". Comments and the flag -only
// may name either.
type Analyzer struct {
	Group string
	*analysis.Analyzer
}

// Suite is the configuration of a tool.
type Suite struct {
	// Analyzers run on the packages for which Ours returns true.
	Analyzers []Analyzer
	Ours      func(importPath string) bool
	// Signatures runs on the declarations of other packages that contain Word. Function bodies are
	// ignored.
	Signatures *analysis.Analyzer
	Word       string
	// Full run on all code of the named other packages.
	Full     []*analysis.Analyzer
	Packages []string
	// Filter removes findings about a package, and may add some. complete reports whether all
	// analyzers have run.
	Filter func(importPath string, found []Finding, complete bool) []Finding
}

// Main handles one call by the go command and ends the program.
func Main(suite Suite) {
	log.SetFlags(0)
	log.SetPrefix("vettool: ")
	debug.SetGCPercent(400) // the program ends soon
	version := flag.String("V", "", "print the version and exit")
	flags := flag.Bool("flags", false, "print the flags as JSON and exit")
	only := flag.String("only", "", "run only these analyzers or groups of them, separated by commas")
	flag.Bool("json", true, "write findings as JSON, as the go command asks for: there is no other way")
	flag.Parse()
	var err error
	switch {
	case *version != "":
		err = printVersion()
	case *flags:
		err = json.NewEncoder(os.Stdout).Encode([]map[string]any{{"Name": "only", "Bool": false, "Usage": flag.Lookup("only").Usage}})
	case flag.NArg() != 1 || !strings.HasSuffix(flag.Arg(0), ".cfg"):
		err = fmt.Errorf("this is run by go vet -vettool=%s", os.Args[0])
	default:
		err = suite.check(flag.Arg(0), *only)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// printVersion prints the version by which the go command distinguishes builds of the tool.
func printVersion() error {
	name, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return err
	}
	fmt.Printf("%s version devel buildID=%x\n", filepath.Base(os.Args[0]), h.Sum(nil))
	return nil
}

// check analyzes the package that a file of the go command describes, and writes its facts and
// findings to the files that it names.
func (s Suite) check(configFile, only string) error {
	config, err := readConfig(configFile)
	if err != nil {
		return err
	}
	if !s.Ours(config.path()) {
		return s.dependency(config)
	}
	s.registerFacts()
	program, err := config.load(true)
	if err != nil {
		return err
	}
	analyzers := s.selectAnalyzers(only)
	if config.VetxOnly {
		return program.analyze(withFacts(analyzers), true, func(*analysis.Analyzer, analysis.Diagnostic) {})
	}
	f := newFindings(program, s.Analyzers)
	if err := program.analyze(analyzers, true, f.add); err != nil {
		return err
	}
	found := s.Filter(config.ImportPath, f.filter(), only == "")
	if len(found) == 0 {
		return nil
	}
	return writeFindings(config, found)
}

// dependency writes the facts about a package that is not ours. Errors are ignored, since the
// compiler has accepted the package.
func (s Suite) dependency(config *Config) error {
	analyzers, bodies := []*analysis.Analyzer{s.Signatures}, false
	switch {
	case slices.Contains(s.Packages, config.ImportPath):
		analyzers, bodies = append(analyzers, s.Full...), true
	case !mentions(config.GoFiles, s.Word):
		return writeRecords(config.VetxOutput, nil)
	}
	s.registerFacts()
	program, err := config.load(bodies)
	if err == nil {
		err = program.analyze(analyzers, false, func(*analysis.Analyzer, analysis.Diagnostic) {})
	}
	if err != nil {
		return writeRecords(config.VetxOutput, nil)
	}
	return nil
}

// mentions reports whether a word is in one of the files.
func mentions(files []string, word string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		data, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(data), word)
	})
}

func (s Suite) registerFacts() {
	for a := range closure(append(s.selectAnalyzers(""), s.Full...)) {
		for _, fact := range a.FactTypes {
			gob.Register(fact)
		}
	}
}

// selectAnalyzers returns the analyzers that the list names, by name or by group, or all if it is
// empty.
func (s Suite) selectAnalyzers(list string) (selected []*analysis.Analyzer) {
	names := strings.Split(list, ",")
	for _, a := range s.Analyzers {
		if list == "" || slices.Contains(names, a.Name) || slices.Contains(names, a.Group) {
			selected = append(selected, a.Analyzer)
		}
	}
	return selected
}

// withFacts returns the analyzers that export facts, including the analyzers that they require.
func withFacts(analyzers []*analysis.Analyzer) []*analysis.Analyzer {
	all := closure(analyzers)
	maps.DeleteFunc(all, func(a *analysis.Analyzer, _ bool) bool { return len(a.FactTypes) == 0 })
	return slices.SortedFunc(maps.Keys(all), func(a, b *analysis.Analyzer) int { return strings.Compare(a.Name, b.Name) })
}
