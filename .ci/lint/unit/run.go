package unit

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"reflect"

	"golang.org/x/tools/go/analysis"
)

// Finding is a report of an analyzer.
type Finding struct {
	Position token.Position
	Rule     string // the analyzer's name, or that of one of its rules
	Group    string // the group of the analyzer
	Message  string
}

// session is one run of analyzers on a package.
type session struct {
	*program
	facts   *facts
	results map[*analysis.Analyzer]any
	report  func(*analysis.Analyzer, analysis.Diagnostic)
}

// run runs an analyzer after its requirements, each only once.
func (s *session) run(a *analysis.Analyzer) (any, error) {
	if result, there := s.results[a]; there {
		return result, nil
	}
	inputs := map[*analysis.Analyzer]any{}
	for _, required := range a.Requires {
		result, err := s.run(required)
		if err != nil {
			return nil, err
		}
		inputs[required] = result
	}
	pass := s.pass(a)
	pass.ResultOf = inputs
	result, err := a.Run(pass)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	s.results[a] = result
	return result, nil
}

// pass returns the analysis.Pass with which an analyzer reads the package and its facts.
func (s *session) pass(a *analysis.Analyzer) *analysis.Pass {
	return &analysis.Pass{
		Analyzer:          a,
		Fset:              s.fset,
		Files:             s.files,
		OtherFiles:        s.NonGoFiles,
		IgnoredFiles:      s.IgnoredFiles,
		Pkg:               s.pkg,
		TypesInfo:         s.info,
		TypesSizes:        s.sizes,
		Report:            func(d analysis.Diagnostic) { s.report(a, d) },
		ReadFile:          os.ReadFile,
		ImportObjectFact:  s.facts.object,
		ImportPackageFact: s.facts.packageFact,
		ExportObjectFact:  s.exportObject,
		ExportPackageFact: func(fact analysis.Fact) { s.facts.packages[packageKey{s.pkg, reflect.TypeOf(fact)}] = fact },
		AllObjectFacts:    func() []analysis.ObjectFact { return s.facts.allObjects(a) },
		AllPackageFacts:   func() []analysis.PackageFact { return s.facts.allPackages(a) },
		Module:            &analysis.Module{Path: s.ModulePath, GoVersion: s.GoVersion},
	}
}

func (s *session) exportObject(object types.Object, fact analysis.Fact) {
	s.facts.objects[objectKey{object, reflect.TypeOf(fact)}] = fact
}

// analyze runs analyzers on a loaded package and writes their facts.
func (p *program) analyze(analyzers []*analysis.Analyzer, all bool, report func(*analysis.Analyzer, analysis.Diagnostic)) error {
	facts, err := readFacts(p)
	if err != nil {
		return err
	}
	s := &session{program: p, facts: facts, results: map[*analysis.Analyzer]any{}, report: report}
	for _, a := range analyzers {
		if _, err := s.run(a); err != nil {
			return err
		}
	}
	return facts.write(p.VetxOutput, p.pkg, all)
}

// closure returns the analyzers with all analyzers that they require.
func closure(analyzers []*analysis.Analyzer) map[*analysis.Analyzer]bool {
	all := map[*analysis.Analyzer]bool{}
	var visit func(a *analysis.Analyzer)
	visit = func(a *analysis.Analyzer) {
		if !all[a] {
			all[a] = true
			for _, required := range a.Requires {
				visit(required)
			}
		}
	}
	for _, a := range analyzers {
		visit(a)
	}
	return all
}
