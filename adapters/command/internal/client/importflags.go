package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/convert"
	"github.com/bunting-flags/bunting/management/featureflags"
)

func importFlagsHelp() string {
	var b strings.Builder
	b.WriteString(`
Usage: bunting import FORMAT FILE... [OPTIONS]

Converts the flag definitions of another system into a definitions file, for
bunting serve --definitions. A flag that would give some user another value than
before is left out, and listed with its place and the reason. FORMAT is:

`)
	for _, f := range convert.Formats {
		fmt.Fprintf(&b, "  %-14s %s\n", f.Name, f.Summary)
	}
	b.WriteString(`
  --output FILE      - (default) is the standard output
  --rebucket         also convert flags for a percentage of the users: the
                     percentage stays, but other people are in it
  --environment NAME choose one of several environments in a file
  --project-key KEY  public key of the new project, phc_imported by default
  --rename           rename flags whose keys a server would refuse, such as a.b, and
                     list the old and new keys; --rename=FILE writes that list to
                     FILE, as CSV
  --server URL       instead of writing a file, apply the flags to a project of this
                     server, as bunting flags apply does. Flags that the server
                     would refuse are left out.
  --key KEY          personal API key for the server; BUNTING_KEY by default, else
                     that of bunting login
  --project ID       project of the server; BUNTING_PROJECT by default, else the
                     only one that the key can access
  --plan             only show what would be created and changed on the server
                     (--server, else BUNTING_SERVER, else that of bunting login), and
                     for how many known people

Exit code 1 if a flag was left out; 2 if --plan shows a change.
`)
	return b.String()
}

// importDefinitions runs bunting import with the name of a format.
func importDefinitions(ctx context.Context, p *cli.Program, format convert.Format, args []string) error {
	fs := cli.NewFlags("import")
	output := fs.String("output", "-", "")
	server := fs.String("server", "", "")
	key := fs.String("key", "", "")
	project := fs.String("project", p.Env[cli.ProjectVariable], "")
	plan := fs.Bool("plan", false, "")
	var rename renameOption
	fs.Var(&rename, "rename", "")
	var o convert.Options
	fs.BoolVar(&o.Rebucket, "rebucket", false, "")
	fs.StringVar(&o.Environment, "environment", "", "")
	fs.StringVar(&o.ProjectKey, "project-key", "", "")
	files, err := cli.ParseArgs(fs, args)
	switch {
	case err != nil:
		return err
	case len(files) == 0:
		return cli.BadUsage("import", "%s: give a file, or - for the standard input", format.Name)
	case *key != "" && *server == "" && !*plan:
		return cli.BadUsage("import", "--key is for a server: give its URL with --server")
	case (*server != "" || *plan) && *output != "-":
		return cli.BadUsage("import", "--output is for a file, --server and --plan are for a server: choose one")
	}
	if *server != "" || *plan {
		if err := fillSignIn(p, server, key); err != nil {
			return err
		}
	}
	result, err := readFormat(p, format, files, o)
	if err == nil && rename.isSet {
		err = rename.apply(p, result)
	}
	if err != nil {
		return err
	}
	if *server != "" {
		dropInvalid(result)
	}
	omitted := printOmissions(p, result)
	var changes int
	var text []byte
	if *server != "" {
		changes, err = applyDefinitions(ctx, p, result, *plan, *server, *key, *project)
	} else if text, err = result.Document(); err == nil {
		err = write(p, *output, string(text))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stderr, "%s converted, %d left out, %s\n", cli.Plural(len(result.Converted), "flag"), omitted, cli.Plural(len(result.Omissions)-omitted, "note"))
	switch {
	case err != nil:
		return err
	case omitted > 0:
		return cli.ErrReported
	case *plan && changes > 0:
		return cli.ErrChanges
	}
	return nil
}

// fillSignIn sets the server and the key as the other client commands do.
func fillSignIn(p *cli.Program, server, key *string) error {
	*server, *key = cmp.Or(*server, p.Env["BUNTING_SERVER"]), cmp.Or(*key, p.Env["BUNTING_KEY"])
	signIns, err := readSignIns(p)
	if err != nil {
		return err
	}
	if signIns.use(server, key); *key == "" {
		return cli.BadUsage("import", "--key is missing: use the key that the server's first start printed, or run bunting login")
	}
	return nil
}

// readFormat converts the files.
func readFormat(p *cli.Program, format convert.Format, files []string, o convert.Options) (*convert.Result, error) {
	var inputs []convert.Input
	for _, name := range files {
		data, err := readInput(p, name)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, convert.Input{Name: name, Data: data})
	}
	return format.Read(inputs, o)
}

// dropInvalid removes the flags that a server would reject, so that it stores the rest.
func dropInvalid(r *convert.Result) {
	d := &r.File.Projects[0].Definitions
	var omissions []convert.Omission
	var cohorts []int64
	for _, refusal := range featureflags.Refusals(d) {
		if refusal.Cohort != 0 {
			cohorts = append(cohorts, refusal.Cohort)
			continue
		}
		reason := "a server would refuse it: " + refusal.Reason
		if to := featureflags.ProposedKey(refusal.Flag); to != "" && to != refusal.Flag {
			reason += fmt.Sprintf(" (--rename changes it to %q)", to)
		}
		omissions = append(omissions, convert.Omission{Flag: refusal.Flag, Place: refusal.Path, Reason: reason})
	}
	r.Omit(omissions, cohorts)
}

// renameOption is the option --rename, with or without a file.
type renameOption struct {
	isSet bool
	file  string
}

func (r *renameOption) String() string   { return r.file }
func (r *renameOption) IsBoolFlag() bool { return true }

// Set is called with "true" if the option has no value.
func (r *renameOption) Set(value string) error {
	if r.isSet = value != "false"; value != "true" && r.isSet {
		r.file = value
	}
	return nil
}

// apply renames flags and writes the table of their names.
func (r *renameOption) apply(p *cli.Program, result *convert.Result) error {
	names := result.Rename(featureflags.ProposedKey)
	if r.file != "" {
		var table bytes.Buffer
		w := csv.NewWriter(&table)
		_ = w.Write([]string{"old", "new"})
		for _, n := range names {
			_ = w.Write([]string{n.From, n.To})
		}
		w.Flush()
		return write(p, r.file, table.String())
	}
	if len(names) == 0 {
		return nil
	}
	rows := [][]string{{"OLD KEY", "NEW KEY"}}
	for _, n := range names {
		rows = append(rows, []string{cli.Cell(n.From), cli.Cell(n.To)})
	}
	_, err := io.WriteString(p.Stderr, cli.Table(rows)+"\n")
	return err
}

// readInput reads a file, or the standard input for a dash. It reads at most one byte more than an
// input may have, so that longer inputs are rejected as too long.
func readInput(p *cli.Program, name string) ([]byte, error) {
	from, _, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	data, err := io.ReadAll(io.LimitReader(from, convert.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// write writes a file, or to the standard output for a dash.
func write(p *cli.Program, output, text string) error {
	if output == "-" {
		return p.Print(text)
	}
	return os.WriteFile(output, []byte(text), 0o644)
}

// printOmissions lists flags that were left out or only partly converted, and returns the number of
// flags left out. These are listed first, then notes about types. Equal notes are combined.
func printOmissions(p *cli.Program, r *convert.Result) (omitted int) {
	if len(r.Omissions) == 0 {
		return 0
	}
	rows := [][]string{{"FLAG", "LEFT OUT", "PLACE", "REASON"}}
	var notes []*equalNotes
	byReason := map[string]*equalNotes{}
	for _, l := range r.Omissions {
		if l.IsFlagOmitted {
			omitted++
			rows = append(rows, []string{cli.Cell(l.Flag), "yes", cli.Cell(l.Place), cli.Cell(l.Reason)})
			continue
		}
		n := byReason[l.Reason]
		if n == nil {
			n = &equalNotes{reason: l.Reason, types: l.Type, hasPlace: map[string]bool{}}
			byReason[l.Reason], notes = n, append(notes, n)
		}
		n.add(l)
	}
	slices.SortStableFunc(notes, func(a, b *equalNotes) int {
		switch {
		case a.types == b.types:
			return 0
		case a.types:
			return -1
		}
		return 1
	})
	for _, n := range notes {
		rows = append(rows, []string{cli.Cell(nameList(n.flags, "flags")), "no", cli.Cell(nameList(n.places, "places")), cli.Cell(n.text())})
	}
	_, _ = io.WriteString(p.Stderr, cli.Table(rows))
	return omitted
}

// equalNotes are notes with one reason.
type equalNotes struct {
	reason        string
	types         bool
	flags, places []string // without duplicates
	hasPlace      map[string]bool
	count         int
}

func (n *equalNotes) add(l convert.Omission) {
	n.count++
	if last := len(n.flags) - 1; last < 0 || n.flags[last] != l.Flag { // notes are grouped by flag
		n.flags = append(n.flags, l.Flag)
	}
	if !n.hasPlace[l.Place] {
		n.hasPlace[l.Place], n.places = true, append(n.places, l.Place)
	}
}

func (n *equalNotes) text() string {
	if n.count == 1 {
		return n.reason
	}
	return fmt.Sprintf("%d times: %s", n.count, n.reason)
}

// nameList returns a single name, or the number of names and the first of them.
func nameList(names []string, what string) string {
	if len(names) == 1 {
		return names[0]
	}
	const most = 3
	text := fmt.Sprintf("%d %s: %s", len(names), what, strings.Join(names[:min(most, len(names))], ", "))
	if len(names) > most {
		text += ", …"
	}
	return text
}

// applyDefinitions applies the flags to a server's project, all or none, or prints what that would
// change if plan is set. It returns the number of changes.
func applyDefinitions(ctx context.Context, p *cli.Program, r *convert.Result, plan bool, server, key, project string) (changes int, err error) {
	doc, err := r.Portable()
	if err != nil {
		return 0, err
	}
	m := &manager{Program: p, command: "import", server: &server, key: &key}
	if err := m.connect(); err != nil {
		return 0, err
	}
	defer m.client.close()
	if m.project, err = m.client.findProject(ctx, project); err != nil {
		return 0, err
	}
	what := "apply/"
	if plan {
		what = "plan/"
	}
	var a documentAnswer
	if err := m.client.do(ctx, "POST", m.flagsPath(what), doc, &a); err != nil {
		return 0, err
	}
	m.nameProject()
	return len(a.Changes), m.Print(a.text(!plan))
}
