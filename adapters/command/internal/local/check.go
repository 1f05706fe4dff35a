package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/sdklint"
	"github.com/bunting-flags/bunting/management/featureflags"
)

const checkHelp = `Usage: bunting check [--json] FILE...

Reads definitions files, bare payloads as PostHog serves them, or documents of
bunting flags export, and lists:

  errors     what makes a flag fail, with its place in the file, including
             members with a misspelled name (rolout_percentage)
  warnings   what is ignored or can never match; unknown members; what a server
             would refuse to store, such as the key a.b
  SDKs       flags that a PostHog SDK cannot evaluate locally and requests from
             the server, or evaluates by other rules than the server, and why;
             this is information, not an error

  --json         print JSON
  --api-key KEY  key of a bare payload's project, which is not needed here

Exit code 1 if there is an error.
`

// fileResult contains the faults of one file.
type fileResult struct {
	File     string          `json:"file"`
	Error    string          `json:"error,omitempty"` // the reason why the file cannot be used at all
	Projects []projectResult `json:"projects"`
}

type projectResult struct {
	Key     string        `json:"api_key"`
	Name    string        `json:"name"`
	Flags   int           `json:"flags"`
	Cohorts int           `json:"cohorts"`
	Faults  []faultResult `json:"faults"`
	Local   []localResult `json:"local"`
}

type faultResult struct {
	Severity string `json:"severity"` // error: a flag fails; warning: only reported
	Place    string `json:"place"`
	Flag     string `json:"flag,omitempty"`
	Code     string `json:"code,omitempty"`
	Problem  string `json:"problem"`
}

type localResult struct {
	Flag    string `json:"flag"`
	SDK     string `json:"sdk"`
	Differs bool   `json:"differs"`
	Why     string `json:"why"`
}

const (
	severityError   = "error"
	severityWarning = "warning"
)

func check(_ context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("check")
	asJSON := fs.Bool("json", false, "")
	apiKey := fs.String("api-key", payloadKey, "")
	paths, err := cli.ParseArgs(fs, args)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return cli.BadUsage("check", "give a file, for example: bunting check testdata/demo.json")
	}
	results, errs := make([]fileResult, len(paths)), 0
	for i, path := range paths {
		results[i] = checkFile(path, cmp.Or(*apiKey, payloadKey))
		errs += results[i].count(severityError)
	}
	var out string
	if *asJSON {
		out, err = cli.Indent(results)
	} else {
		out = checkText(results)
	}
	if err == nil {
		err = p.Print(out)
	}
	if err == nil && errs > 0 {
		return cli.ErrReported
	}
	return err
}

// checkFile returns the faults of a file. If it is a bare payload, apiKey is the key of its
// project.
func checkFile(path, apiKey string) fileResult {
	out := fileResult{File: path, Projects: []projectResult{}}
	f, err := filesource.Load(path, apiKey)
	if err != nil {
		out.Error = strings.TrimPrefix(err.Error(), path+": ")
		return out
	}
	text, err := os.ReadFile(path)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	unknown := flags.UnknownKeys(flags.FilePart, text)
	bare := len(f.Projects) == 1 && f.Projects[0].APIKey == apiKey && f.Organization.ID == ""
	for i := range f.Projects {
		prefix := "projects[" + strconv.Itoa(i) + "]."
		if bare {
			prefix = ""
		}
		p := checkProject(&f.Projects[i], prefix)
		p.addUnknown(unknown, prefix, i == 0)
		out.Projects = append(out.Projects, p)
	}
	return out
}

// checkProject returns the faults of a project, and the flags that SDKs may evaluate differently.
// prefix is the position of the project in its file.
func checkProject(p *flags.FileProject, prefix string) projectResult {
	out := projectResult{
		Key: p.APIKey, Name: p.Name, Flags: len(p.Definitions.Flags), Cohorts: len(p.Definitions.Cohorts),
		Faults: []faultResult{}, Local: []localResult{},
	}
	for _, f := range flags.Compile(p.Definitions).Faults() {
		fault := newFault(f)
		if !strings.HasPrefix(fault.Place, "projects[") {
			fault.Place = prefix + fault.Place
		}
		out.Faults = append(out.Faults, fault)
	}
	out.addRejections(&p.Definitions, prefix)
	for _, l := range sdklint.Problems(p.Definitions) {
		out.Local = append(out.Local, localResult{l.Key, l.SDK, l.Differs, l.Why})
	}
	out.Local = slices.Compact(out.Local)
	return out
}

func newFault(f *flags.DefinitionError) faultResult {
	fault := faultResult{severityWarning, f.Path, f.Flag, f.Code.String(), f.Problem}
	if f.Code != flags.NoReason {
		fault.Severity = severityError
	}
	return fault
}

// addRejections adds the faults for which the API of a server would reject flags and cohorts,
// unless a fault is already listed there. Files are evaluated without these checks.
func (p *projectResult) addRejections(d *flags.Definitions, prefix string) {
	index, failed := map[string]int{}, map[string]bool{}
	for i := range d.Flags {
		index[d.Flags[i].Key] = i
	}
	listed := map[string]bool{}
	for _, f := range p.Faults {
		listed[f.Place] = true
		failed[f.Flag] = failed[f.Flag] || f.Severity == severityError
	}
	for _, r := range featureflags.Refusals(d) {
		top := fmt.Sprintf("%sflags[%d].", prefix, index[r.Flag])
		hasFailed := failed[r.Flag]
		if r.Cohort != 0 {
			top = fmt.Sprintf("%scohorts.%d.", prefix, r.Cohort)
			hasFailed = slices.ContainsFunc(p.Faults, func(f faultResult) bool { return strings.HasPrefix(f.Place, top) })
		}
		if pointer := top + elementOf.ReplaceAllString(r.Path, "[$1]"); !hasFailed && !listed[pointer] {
			p.Faults = append(p.Faults, faultResult{severityWarning, pointer, r.Flag, "", "a server's API would refuse it: " + r.Reason})
		}
	}
}

// elementOf matches the index of a list element in a path of the API, such as groups.0.
var elementOf = regexp.MustCompile(`\.(\d+)\b`)

// addUnknown adds members that are not read and that are not listed yet: those of the project, and
// for the first project also those outside of projects.
func (p *projectResult) addUnknown(unknown []*flags.DefinitionError, prefix string, first bool) {
	for _, u := range unknown {
		ours := strings.HasPrefix(u.Path, prefix) || first && !strings.HasPrefix(u.Path, "projects[")
		listed := func(f faultResult) bool { return f.Place == u.Path }
		if ours && !slices.ContainsFunc(p.Faults, listed) {
			p.Faults = append(p.Faults, newFault(u))
		}
	}
}

// count counts faults of a severity. A file that cannot be used counts as an error.
func (c *fileResult) count(severity string) (n int) {
	if c.Error != "" && severity == severityError {
		n++
	}
	for i := range c.Projects {
		for _, f := range c.Projects[i].Faults {
			if f.Severity == severity {
				n++
			}
		}
	}
	return n
}

func checkText(results []fileResult) string {
	var b strings.Builder
	errs, warnings := 0, 0
	for i := range results {
		r := &results[i]
		errs += r.count(severityError)
		warnings += r.count(severityWarning)
		if r.Error != "" {
			fmt.Fprintf(&b, "%s\n  error    %s\n\n", r.File, r.Error)
			continue
		}
		fmt.Fprintf(&b, "%s\n", r.File)
		for j := range r.Projects {
			r.Projects[j].text(&b)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s, %s\n", cli.Plural(errs, "error"), cli.Plural(warnings, "warning"))
	return b.String()
}

func (p *projectResult) text(b *strings.Builder) {
	fmt.Fprintf(b, "  project %s (%s): %s, %s\n", p.Key, p.Name, cli.Plural(p.Flags, "flag"), cli.Plural(p.Cohorts, "cohort"))
	for _, f := range p.Faults {
		flag := ""
		if f.Flag != "" {
			flag = fmt.Sprintf(" (flag %q)", f.Flag)
		}
		fmt.Fprintf(b, "    %-8s %s%s: %s\n", f.Severity, f.Place, flag, f.Problem)
	}
	if len(p.Local) == 0 {
		return
	}
	b.WriteString("    SDKs that evaluate locally may give other values than the server for these flags:\n")
	rows := [][]string{{"      FLAG", "SDK", "THERE", "WHY"}}
	for _, l := range p.Local {
		there := "asks the server"
		if l.Differs {
			there = "differs"
		}
		rows = append(rows, []string{"      " + l.Flag, l.SDK, there, l.Why})
	}
	b.WriteString(cli.Table(rows))
}
