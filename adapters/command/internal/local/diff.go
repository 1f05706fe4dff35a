package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/flagsdiff"
	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/flags"
)

const diffHelp = `Usage: bunting diff [OPTIONS] A B

Compares two definitions files, or bare payloads as PostHog serves them: which
flags only one of them has and, with --users, which users would change value from
A to B, and why.

  --users FILE     the users, - for the standard input: one a line, as JSON or as
                   a plain distinct id, or a JSON list
  --flag KEY       only this flag; may be repeated
  --at TIME        evaluate at this time, such as 2026-01-31T12:00:00Z
  --project KEY    project key, if a file has several projects
  --limit N        examples per flag: 10 by default, 0 for all
  --reasons        count the same value with another reason as a change
  --format FORMAT  text (default) or json
  --api-key KEY    key of a bare payload's project, which is not needed here

A user has the form that bunting eval reads: {"distinct_id": "user-1",
"person_properties": {}, "groups": {}, "group_properties": {}, …}; "properties" is
accepted for "person_properties".

Exit codes: 0 no difference, 1 differences, 2 failure.
`

// diffLimit is the default number of examples for each flag.
const diffLimit = 10

// diffCommand is one run of diff.
type diffCommand struct {
	usersFile, format, project string
	keys                       cli.StringList
	limit                      int64
	reasons                    bool
	at                         time.Time

	diff     *flagsdiff.Diff
	examples map[string][]flagsdiff.Change
}

func diff(ctx context.Context, p *cli.Program, args []string) error {
	differs, err := runDiff(ctx, p, args)
	var usage *cli.UsageError
	var help cli.HelpRequest
	switch {
	case err == nil && differs:
		return cli.ErrReported
	case err == nil, errors.As(err, &usage), errors.As(err, &help):
		return err
	}
	return cli.Usage(err.Error(), "see bunting help diff") // exit code 1 is for differences
}

func runDiff(ctx context.Context, p *cli.Program, args []string) (differs bool, err error) {
	d := &diffCommand{examples: map[string][]flagsdiff.Change{}}
	fs := cli.NewFlags("diff")
	fs.StringVar(&d.usersFile, "users", "", "")
	fs.StringVar(&d.format, "format", "text", "")
	fs.StringVar(&d.project, "project", "", "")
	fs.Var(&d.keys, "flag", "")
	fs.Int64Var(&d.limit, "limit", diffLimit, "")
	fs.BoolVar(&d.reasons, "reasons", false, "")
	atFlag := fs.String("at", "", "")
	apiKey := fs.String("api-key", payloadKey, "")
	files, err := cli.ParseArgs(fs, args)
	switch {
	case err != nil:
		return false, err
	case len(files) != 2:
		return false, cli.BadUsage("diff", "give two definitions files, as in: bunting diff A.json B.json --users users.jsonl")
	case d.format != "text" && d.format != "json":
		return false, cli.BadUsage("diff", "--format: must be text or json, not %q", d.format)
	case d.limit < 0:
		return false, cli.BadUsage("diff", "--limit: must be a number of examples, 0 for all, not %d", d.limit)
	}
	if d.at, err = parseAt("diff", *atFlag); err != nil {
		return false, err
	}
	if d.at.IsZero() {
		d.at = time.Now()
	}
	var sets [2]*flags.Set
	for i, path := range files {
		if sets[i], err = d.load(path, cmp.Or(*apiKey, payloadKey)); err != nil {
			return false, err
		}
	}
	d.diff = flagsdiff.New(sets[0], sets[1], flagsdiff.Options{Keys: d.keys, Reasons: d.reasons, Limit: d.limit})
	if unknown := d.diff.Unknown(); len(unknown) > 0 {
		return false, cli.BadUsage("diff", "--flag: neither file has a flag %q", unknown[0])
	}
	if d.usersFile != "" {
		if err := d.compare(ctx, p); err != nil {
			return false, err
		}
	}
	out := d.text()
	if d.format == "json" {
		if out, err = d.json(); err != nil {
			return false, err
		}
	}
	_, changed := d.diff.Users()
	return changed > 0 || len(d.diff.Flags()) > 0, p.Print(out)
}

// load compiles the selected project of a file. A file with one project needs no --project; if it
// is a bare payload, its project matches any --project.
func (d *diffCommand) load(path, apiKey string) (*flags.Set, error) {
	f, err := filesource.Load(path, apiKey)
	if err != nil {
		return nil, err
	}
	choice := evalCommand{project: d.project}
	if len(f.Projects) == 1 && f.Projects[0].APIKey == apiKey {
		choice.project = ""
	}
	project, err := choice.choose(f.Projects)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return flags.Compile(project.Definitions), nil
}

// compare evaluates both sets of flags for each user of the file.
func (d *diffCommand) compare(ctx context.Context, p *cli.Program) error {
	from, size, err := p.Open(d.usersFile)
	if err != nil {
		return fmt.Errorf("--users: %w", err)
	}
	defer func() { _ = from.Close() }()
	bar := cli.NewProgress(p.Stderr)
	defer bar.Clear()
	users := newUserReader(inputName(d.usersFile), from)
	for n := int64(1); ; n++ {
		u, err := users.next()
		if u == nil || err != nil {
			return err
		}
		for _, c := range d.diff.Compare(&u.subject, d.at) {
			d.examples[c.Key] = append(d.examples[c.Key], c)
		}
		if n%64 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			bar.Show(users.read(), size, cli.Plural(int(n), "user"))
		}
	}
}

// text formats the result for a terminal.
func (d *diffCommand) text() string {
	var b strings.Builder
	for _, f := range d.diff.Flags() {
		fmt.Fprintf(&b, "flag %s: %s\n", f.Key, flagDifferences[f.Cause])
	}
	if d.usersFile == "" {
		if b.Len() == 0 {
			b.WriteString("both have the same flags; --users FILE shows whose values would change\n")
		}
		return b.String()
	}
	compared, changed := d.diff.Users()
	for _, t := range d.diff.Totals() {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "flag %s: %d of %s would change (%s %%)\n", t.Key, t.Changed, cli.Plural(int(t.Users), "user"), strconv.FormatFloat(t.Share*100, 'f', 2, 64))
		for _, c := range d.examples[t.Key] {
			fmt.Fprintf(&b, "  %s: %s -> %s\n      %s\n", strconv.Quote(c.DistinctID), diffValue(&c.Before, &c.After), diffValue(&c.After, &c.Before), c.Why.Text)
		}
		if more := t.Changed - int64(len(d.examples[t.Key])); more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d of %s would change\n", changed, cli.Plural(int(compared), "user"))
	return b.String()
}

var flagDifferences = map[flagsdiff.Cause]string{
	flagsdiff.CauseNew: "only in B", flagsdiff.CauseRemoved: "only in A", flagsdiff.CauseActivated: "active only in B",
	flagsdiff.CauseDeactivated: "active only in A", flagsdiff.CauseUnanswered: "part of a cycle of dependencies, or depends on one, in A or B",
}

// diffValue formats an answer, with its payload if the payloads differ.
func diffValue(a, second *flagsdiff.Answer) string {
	text := fmt.Sprint(a.Value)
	switch {
	case !a.Answered:
		return "no answer"
	case a.Failed:
		return "failed"
	case a.Undecided:
		return "not decided"
	}
	if variant, ok := a.Value.(string); ok {
		text = strconv.Quote(variant)
	}
	if a.Answered == second.Answered && string(a.Payload) != string(second.Payload) {
		if a.Payload == nil {
			return text + " without payload"
		}
		text += " with payload " + cli.Shorten(string(a.Payload))
	}
	return text
}

func (d *diffCommand) json() (string, error) {
	type total struct {
		flagsdiff.Total
		Examples []flagsdiff.Change `json:"examples"`
	}
	out := struct {
		At      time.Time              `json:"at"`
		Flags   []flagsdiff.Difference `json:"flags"`
		Users   int64                  `json:"users"`
		Changed int64                  `json:"changed"`
		Changes []total                `json:"changes"`
	}{At: d.at.UTC(), Flags: d.diff.Flags(), Changes: []total{}}
	out.Users, out.Changed = d.diff.Users()
	for _, t := range d.diff.Totals() {
		out.Changes = append(out.Changes, total{t, d.examples[t.Key]})
	}
	return cli.Indent(out)
}
