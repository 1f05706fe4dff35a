package suite

import (
	"fmt"
	"go/build"
	"os"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
	"github.com/hashicorp/go-version"
	"github.com/mgechev/revive/config"
	revive "github.com/mgechev/revive/lint"
	"golang.org/x/tools/go/analysis"

	"github.com/bunting-flags/bunting/ci/lint"
)

// reviveRules is the command revive, with the rules of revive.toml, as an analyzer.
//
// Some rules make revive check types itself, without the types of other packages. Where these
// matter, another analyzer replaces the rule: timeEqual replaces time-equal, vet's stringintconv
// replaces string-of-int, and SA1029 replaces context-keys-type.
var reviveRules = &analysis.Analyzer{
	Name: "revive",
	Doc:  "reports what the rules of revive.toml find",
	Run: func(pass *analysis.Pass) (any, error) {
		rules, err := reviveConfig()
		if err != nil {
			return nil, err
		}
		settings := rules.settings
		settings.GoVersion, err = version.NewVersion(strings.TrimPrefix(pass.Module.GoVersion, "go"))
		if err != nil {
			return nil, fmt.Errorf("version of Go: %w", err)
		}
		var files []string
		for _, file := range pass.Files {
			files = append(files, pass.Fset.File(file.FileStart).Name())
		}
		linter := revive.New(os.ReadFile, 0)
		failures, err := linter.Lint([][]string{files}, rules.rules, settings)
		if err != nil {
			return nil, err
		}
		for f := range failures {
			if f.Confidence < settings.Confidence {
				continue
			}
			if f.IsInternal() {
				return nil, fmt.Errorf("%s", f.Failure)
			}
			pass.Report(analysis.Diagnostic{Pos: posOf(pass, f.Position.Start), Category: f.RuleName, Message: f.Failure})
		}
		return nil, nil
	},
}

// reviveSet contains revive's settings and the rules that they enable.
type reviveSet struct {
	settings revive.Config
	rules    []revive.Rule
}

var reviveConfig = sync.OnceValues(func() (set reviveSet, err error) {
	// Otherwise the go command would run for every import of the standard library.
	build.Default.GOROOT = ""
	set.settings.Confidence = 0.8 // the default of the command
	if err := toml.Unmarshal(lint.Revive, &set.settings); err != nil {
		return set, err
	}
	for name, rule := range set.settings.Rules {
		if err := rule.Initialize(); err != nil {
			return set, fmt.Errorf("%s: %w", name, err)
		}
		set.settings.Rules[name] = rule
	}
	set.rules, err = config.GetLintingRules(&set.settings, nil)
	return set, err
})
