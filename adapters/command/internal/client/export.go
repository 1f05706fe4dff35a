package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

const exportHelp = `Usage: bunting export --server URL --key phx_… [OPTIONS]

Writes a project's persons, groups and events as JSON lines: one object per line,
whose "type" is person, group or event. Persons come first and events last, in
the order in which they were recorded, so that bunting import can read the file
as it is.

  --server URL      such as http://127.0.0.1:8000; BUNTING_SERVER in the environment
                    by default
  --key KEY         personal API key with the scopes person:read, group:read and
                    query:read; BUNTING_KEY in the environment by default
` + projectOption + `  --what LIST       persons, groups, events, separated by commas; all by default
  --from TIME       only events at or after this time, such as 2026-01-31 or
                    2026-01-31T12:00:00Z
  --to TIME         only events before this time
  --output FILE     the file to write; - (default) is the standard output

With a file, FILE.part stores how far the export is: after an interruption the
same command continues there, without gaps or duplicates. FILE.part is removed at
the end.
`

// exportParts are the parts of an export, in the order in which they are written: an import creates
// the persons before their events.
var exportParts = []string{"persons", "groups", "events"}

// exporter is one run of export.
type exporter struct {
	client   *apiClient
	progress *cli.Progress
	output   string
	out      *bufio.Writer
	file     *os.File // nil for the standard output
	state    exportState
}

// exportState is the content of FILE.part.
type exportState struct {
	Server  string   `json:"server"`
	Project string   `json:"project"`
	What    []string `json:"what"`
	From    string   `json:"from"`
	To      string   `json:"to"`
	// Part is the index in What of the current part; GroupType is the current type of groups.
	// Cursor is the beginning of the next page, or empty at the beginning of the part.
	Part      int    `json:"part"`
	GroupType int    `json:"group_type"`
	Cursor    string `json:"cursor"`
	// Size is the number of bytes of FILE that are known to be written.
	Size   int64            `json:"size"`
	Counts map[string]int64 `json:"counts"`
}

// export implements the command export. If it fails, the state is kept, so that the same command
// continues.
func export(ctx context.Context, p *cli.Program, args []string) error {
	e, err := parseExport(p, args)
	if err != nil {
		return err
	}
	defer e.client.close()
	project, err := e.client.findProject(ctx, e.state.Project)
	if err != nil {
		return err
	}
	e.state.Project = strconv.FormatInt(project.ID, 10)
	if err := e.open(p.Stdout); err != nil {
		return err
	}
	err = e.run(ctx)
	e.progress.Clear()
	if err = errors.Join(err, e.close(err == nil)); err != nil {
		if e.file != nil {
			err = fmt.Errorf("%w\nrun the same command again to continue where it stopped", err)
		}
		return err
	}
	e.progress.Println("exported %s of project %s", e.summary(), project)
	return nil
}

func parseExport(p *cli.Program, args []string) (*exporter, error) {
	e := &exporter{progress: cli.NewProgress(p.Stderr), state: exportState{Counts: map[string]int64{}}}
	fs := cli.NewFlags("export")
	fs.StringVar(&e.state.Server, "server", p.Env["BUNTING_SERVER"], "")
	key := fs.String("key", p.Env["BUNTING_KEY"], "")
	fs.StringVar(&e.state.Project, "project", p.Env[cli.ProjectVariable], "")
	what := fs.String("what", strings.Join(exportParts, ","), "")
	fs.StringVar(&e.state.From, "from", "", "")
	fs.StringVar(&e.state.To, "to", "", "")
	fs.StringVar(&e.output, "output", "-", "")
	if err := cli.NoArgs(fs, args); err != nil {
		return nil, err
	}
	if e.state.Server == "" {
		return nil, cli.BadUsage("export", "--server is missing")
	}
	if *key == "" {
		return nil, cli.BadUsage("export", "--key is missing")
	}
	requested := strings.Split(*what, ",")
	for _, part := range requested {
		if !slices.Contains(exportParts, part) {
			return nil, cli.BadUsage("export", "--what: unknown part %q, must be one of %s", part, strings.Join(exportParts, ", "))
		}
	}
	for _, part := range exportParts {
		if slices.Contains(requested, part) {
			e.state.What = append(e.state.What, part)
		}
	}
	client, err := newAPIClient(e.state.Server, *key)
	if err != nil {
		return nil, cli.BadUsage("export", "%s", err)
	}
	client.retriesSilence = true
	client.onRetry = func(why string, d time.Duration) { e.progress.Println("%s; trying again in %s", why, d) }
	e.client = client
	return e, nil
}

// open opens the output, and truncates the file of an interrupted export to its last saved
// position.
func (e *exporter) open(stdout io.Writer) (err error) {
	if e.output == "-" {
		e.out = bufio.NewWriter(stdout)
		return nil
	}
	var old exportState
	resumed, err := readState(e.part(), &old)
	if err != nil {
		return err
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if resumed {
		if !old.isSameExport(&e.state) {
			return fmt.Errorf("%s belongs to an export with other options; remove it and %s to start over", e.part(), e.output)
		}
		flag = os.O_WRONLY
		e.state = old
	}
	if e.file, err = os.OpenFile(e.output, flag, 0o600); errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists: choose another --output, or remove it", e.output)
	} else if err != nil {
		return err
	}
	e.out = bufio.NewWriter(e.file)
	if !resumed {
		return e.save()
	}
	if end, err := e.file.Seek(0, io.SeekEnd); err != nil || end < e.state.Size {
		return errors.Join(err, e.file.Close(), fmt.Errorf("%s is shorter than %s says; remove both to start over", e.output, e.part()))
	}
	if err := e.file.Truncate(e.state.Size); err != nil {
		return err
	}
	_, err = e.file.Seek(e.state.Size, io.SeekStart)
	e.progress.Println("continuing after %s", e.summary())
	return err
}

func (e *exporter) part() string { return e.output + ".part" }

func (s *exportState) isSameExport(t *exportState) bool {
	return s.Server == t.Server && s.Project == t.Project && slices.Equal(s.What, t.What) && s.From == t.From && s.To == t.To &&
		s.Part >= 0 && s.Counts != nil
}

// close closes the output, and removes the state if the export is complete.
func (e *exporter) close(isComplete bool) error {
	err := e.out.Flush()
	if e.file == nil {
		return err
	}
	err = errors.Join(err, e.file.Close())
	if isComplete && err == nil {
		err = os.Remove(e.part())
	}
	return err
}

// save syncs the output to disk, and then writes the state.
func (e *exporter) save() error {
	if err := e.out.Flush(); err != nil || e.file == nil {
		return err
	}
	if err := e.file.Sync(); err != nil {
		return err
	}
	size, err := e.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	e.state.Size = size
	return writeState(e.part(), &e.state)
}

func (e *exporter) summary() string {
	parts := make([]string, len(e.state.What))
	for i, part := range e.state.What {
		parts[i] = fmt.Sprintf("%d %s", e.state.Counts[part], part)
	}
	return strings.Join(parts, ", ")
}

// run writes one part after the other.
func (e *exporter) run(ctx context.Context) error {
	for e.state.Part < len(e.state.What) {
		part := e.state.What[e.state.Part]
		var err error
		switch part {
		case "persons":
			err = e.persons(ctx)
		case "groups":
			err = e.groups(ctx)
		case "events":
			err = e.events(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		e.state.Part, e.state.GroupType, e.state.Cursor = e.state.Part+1, 0, ""
		if err := e.save(); err != nil {
			return err
		}
	}
	return nil
}

// answerPage is one page of a list.
type answerPage struct {
	Count   int64             `json:"count"`
	Next    *string           `json:"next"`
	Results []json.RawMessage `json:"results"`
}

// pages reads all pages of a list from the state's cursor on and writes a line for each result.
// total returns the number of results, or 0 if it is unknown.
func (e *exporter) pages(ctx context.Context, list string, q url.Values, total func(first *answerPage) int64, line func(result json.RawMessage) (any, error)) error {
	part := e.state.What[e.state.Part]
	var all int64
	for first := true; ; first = false {
		if e.state.Cursor != "" {
			q.Set("cursor", e.state.Cursor)
		}
		var page answerPage
		if err := e.client.do(ctx, "GET", e.path(list)+"?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		if first && total != nil {
			all = total(&page)
		}
		for _, result := range page.Results {
			if err := e.write(line, result); err != nil {
				return err
			}
			e.state.Counts[part]++
		}
		e.progress.Show(e.state.Counts[part], all, fmt.Sprintf("%d %s", e.state.Counts[part], part))
		if page.Next == nil {
			return nil
		}
		// Only the cursor of the link is used, so that the key is not sent to another host.
		next, err := url.Parse(*page.Next)
		if err != nil || next.Query().Get("cursor") == "" || next.Query().Get("cursor") == e.state.Cursor {
			return fmt.Errorf("the server's link to the next page is not valid: %q", *page.Next)
		}
		e.state.Cursor = next.Query().Get("cursor")
		if err := e.save(); err != nil {
			return err
		}
	}
}

// write writes the line of a result.
func (e *exporter) write(line func(json.RawMessage) (any, error), result json.RawMessage) error {
	v, err := line(result)
	if err != nil {
		return fmt.Errorf("the server's response cannot be read: %w", err)
	}
	text, err := wire.Encode(v)
	if err != nil {
		return err
	}
	_, err = e.out.Write(append(text, '\n'))
	return err
}

func (e *exporter) path(list string) string {
	return "/api/projects/" + url.PathEscape(e.state.Project) + "/" + list + "/"
}
