package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/geoip"
)

const evalHelp = `Usage: bunting eval --definitions FILE (--user FILE | --distinct-id ID) [OPTIONS]

Evaluates the flags of one user from a definitions file, without a server.

Definitions and context:
  --definitions FILE   definitions file, bare payload as PostHog serves it, or
                       document of bunting flags export; may be repeated
  --project KEY        project key, if the files have several projects
  --geoip FILE         City or Country database (.mmdb) that locates "ip"
  --at TIME            evaluate at this time, such as 2026-01-31T12:00:00Z
  --runtime NAME       only flags for "server" or "client" requests; all by default

User:
  --user FILE          the user as JSON; - is the standard input
  --distinct-id ID     the distinct id; replaces that of --user
  --property K=V       person property; V is JSON, or text if it is not valid
                       JSON; may be repeated
  --group TYPE=KEY     group; may be repeated
  --partial            treat everything that is not given as unknown: flags that
                       depend on it are not decided

Output:
  --flag KEY           only this flag, and exit code 1 if it has no value; may be
                       repeated
  --explain            explain each value step by step
  --json               print JSON: flags as in the response of /flags?v=2, and the
                       undecided ones; with --explain the traces
  --watch              evaluate again whenever a definitions file changes
  --api-key KEY        key of a bare payload's project, which is not needed here

The user, all members optional:
  {
    "distinct_id": "user-1", "$anon_distinct_id": "…", "$device_id": "…", "ip": "192.0.2.1",
    "person_properties": {"plan": "pro", "seats": 5},
    "groups": {"company": "acme"}, "group_properties": {"company": {"seats": 50}},
    "stored": {
      "person_properties": {}, "groups": {"company": {}}, "cohorts": [12],
      "created_at": "2026-01-31T12:00:00Z", "overrides": {"some-flag": "first-id"}
    }
  }
"stored" is what a server would have stored; "ip" is treated as an address from
X-Forwarded-For. Numbers keep their form: 5 and 5.0 are different texts.
`

// evalCommand is one run of eval.
type evalCommand struct {
	definitions              cli.StringList
	project, apiKey, geoIP   string
	userFile                 string
	distinctID               *string // nil if not set; "" is a valid distinct id
	properties, groups, keys cli.StringList
	runtime                  string
	partial                  bool
	explain, json, watch     bool
	at                       time.Time // zero: now

	user *user
}

// payloadKey is the public key of the project of a bare payload.
const payloadKey = "payload"

// eval implements the command eval.
func eval(ctx context.Context, p *cli.Program, args []string) error {
	e, err := parseEval(args)
	if err != nil {
		return err
	}
	if err := e.readUser(p); err != nil {
		return err
	}
	if err := e.locate(); err != nil {
		return err
	}
	if e.watch {
		return e.watchFiles(ctx, p)
	}
	var projects []flags.FileProject
	for _, path := range e.definitions {
		f, err := filesource.Load(path, e.apiKey)
		if err != nil {
			return err
		}
		projects = append(projects, f.Projects...)
	}
	return e.print(p, projects)
}

func parseEval(args []string) (*evalCommand, error) {
	e := &evalCommand{}
	fs := cli.NewFlags("eval")
	fs.Var(&e.definitions, "definitions", "")
	fs.StringVar(&e.project, "project", "", "")
	fs.StringVar(&e.apiKey, "api-key", payloadKey, "")
	fs.StringVar(&e.geoIP, "geoip", "", "")
	fs.StringVar(&e.userFile, "user", "", "")
	fs.Func("distinct-id", "", func(id string) error { e.distinctID = &id; return nil })
	fs.Var(&e.properties, "property", "")
	fs.Var(&e.groups, "group", "")
	fs.Var(&e.keys, "flag", "")
	fs.StringVar(&e.runtime, "runtime", "all", "")
	fs.BoolVar(&e.partial, "partial", false, "")
	fs.BoolVar(&e.explain, "explain", false, "")
	fs.BoolVar(&e.json, "json", false, "")
	fs.BoolVar(&e.watch, "watch", false, "")
	atFlag := fs.String("at", "", "")
	if err := cli.NoArgs(fs, args); err != nil {
		return nil, err
	}
	e.apiKey = cmp.Or(e.apiKey, payloadKey)
	var err error
	if e.at, err = parseAt("eval", *atFlag); err != nil {
		return nil, err
	}
	switch {
	case len(e.definitions) == 0:
		return nil, cli.BadUsage("eval", "--definitions FILE is missing; for example: bunting eval --definitions testdata/demo.json --distinct-id user-1")
	case e.userFile == "" && e.distinctID == nil:
		return nil, cli.BadUsage("eval", "give --user FILE or --distinct-id ID")
	case e.runtime != "all" && e.runtime != "server" && e.runtime != "client":
		return nil, cli.BadUsage("eval", "--runtime: must be server, client or all, not %q", e.runtime)
	}
	return e, nil
}

// parseAt parses --at. It returns the zero time if text is empty.
func parseAt(command, text string) (t time.Time, err error) {
	if text != "" {
		if t, err = time.Parse(time.RFC3339, text); err != nil {
			err = cli.BadUsage(command, "--at: must be a time such as 2026-01-31T12:00:00Z, not %q", text)
		}
	}
	return t, err
}

// readUser reads the file of the user, whose members the command line overrides.
func (e *evalCommand) readUser(p *cli.Program) error {
	e.user = &user{}
	if e.userFile != "" {
		f, _, err := p.Open(e.userFile)
		if err != nil {
			return fmt.Errorf("--user: %w", err)
		}
		defer func() { _ = f.Close() }()
		if e.user, err = readUser(inputName(e.userFile), f); err != nil {
			return err
		}
	}
	if e.distinctID != nil {
		e.user.subject.DistinctID, e.user.hasDistinctID = *e.distinctID, true
	}
	if !e.user.hasDistinctID {
		return errors.New(`the user has no "distinct_id"; give one there or with --distinct-id`)
	}
	properties, err := cli.Properties("eval", e.properties)
	if err != nil {
		return err
	}
	groups, err := cli.Groups("eval", e.groups)
	if err != nil {
		return err
	}
	s := &e.user.subject
	s.Person, s.Groups, s.Partial = overlay(properties, s.Person), overlay(groups, s.Groups), e.partial
	return nil
}

// inputName returns the name of a file for messages.
func inputName(file string) string {
	if file == "-" {
		return "the standard input"
	}
	return file
}

// overlay merges over into m, and overwrites its members.
func overlay[M ~map[string]V, V any](over map[string]V, m M) M {
	if m == nil && len(over) > 0 {
		m = M{}
	}
	maps.Copy(m, over)
	return m
}

// locate derives properties from the user's IP address.
func (e *evalCommand) locate() error {
	if e.geoIP == "" {
		if e.user.ip != (netip.Addr{}) {
			return errors.New(`the user has an "ip", which needs a location database: give one with --geoip FILE`)
		}
		return nil
	}
	db, err := geoip.Open(e.geoIP)
	if err != nil {
		return fmt.Errorf("--geoip: %w", err)
	}
	e.user.subject.Located = db.Locate(e.user.ip)
	return db.Close()
}

// watchFiles prints the decisions now and after each change, until the context is done or the
// process receives a signal.
func (e *evalCommand) watchFiles(ctx context.Context, p *cli.Program) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	changed := make(chan struct{}, 1)
	s, err := filesource.Open(filesource.Config{Files: e.definitions, APIKey: e.apiKey, Documents: true, OnChange: func() {
		select {
		case changed <- struct{}{}:
		default: // a change is already pending
		}
	}})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for {
		var projects []flags.FileProject
		for _, project := range s.Projects() {
			d, err := s.Definitions(ctx, project)
			if err != nil {
				continue // the project was just removed from its file: the next change is handled
			}
			projects = append(projects, flags.FileProject{Project: project, Definitions: d})
		}
		if err := e.print(p, projects); err != nil && !errors.Is(err, cli.ErrReported) {
			_, _ = fmt.Fprintf(p.Stderr, "bunting: %v\n", err)
		}
		for _, f := range s.Status() {
			if f.Err != nil {
				_, _ = fmt.Fprintf(p.Stderr, "bunting: %v; its last valid state is used\n", f.Err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			if err := p.Print("\n"); err != nil {
				return err
			}
		}
	}
}

// choose returns the selected project.
func (e *evalCommand) choose(projects []flags.FileProject) (*flags.FileProject, error) {
	var found []*flags.FileProject
	names := make([]string, len(projects))
	for i := range projects {
		names[i] = projects[i].APIKey
		if e.project == "" || projects[i].APIKey == e.project {
			found = append(found, &projects[i])
		}
	}
	there := "; there are " + strings.Join(names, ", ")
	switch {
	case len(projects) == 0:
		return nil, errors.New("the definitions have no project")
	case len(found) == 0:
		return nil, fmt.Errorf("--project: there is no project with the key %q%s", e.project, there)
	case len(found) > 1 && e.project == "":
		return nil, fmt.Errorf("the definitions have several projects: choose one with --project KEY%s", there)
	case len(found) > 1:
		return nil, fmt.Errorf("several files have the project with the key %q", e.project)
	}
	return found[0], nil
}

// print evaluates the flags and prints the decisions. Requested flags without a decision are listed
// on the standard error, and print then returns ErrReported.
func (e *evalCommand) print(p *cli.Program, projects []flags.FileProject) error {
	project, err := e.choose(projects)
	if err != nil {
		return err
	}
	now := e.at
	if now.IsZero() {
		now = time.Now()
	}
	r := &evalResult{
		project: project, set: flags.Compile(project.Definitions), subject: &e.user.subject, at: now,
		selection: flags.Selection{Keys: e.keys, Runtime: e.runtime},
	}
	missing := r.decide(e.keys)
	var out string
	switch {
	case e.explain && e.json:
		out, err = r.tracesJSON()
	case e.explain:
		out = r.tracesText()
	case e.json:
		out, err = r.answerJSON()
	default:
		out = r.table()
	}
	if err == nil {
		err = p.Print(out)
	}
	if err != nil {
		return err
	}
	for _, line := range missing {
		_, _ = fmt.Fprintln(p.Stderr, "bunting: "+line)
	}
	if len(missing) > 0 {
		return cli.ErrReported
	}
	return nil
}
