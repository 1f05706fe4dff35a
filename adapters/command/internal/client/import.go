package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/convert"
)

var importHelp = `Usage: bunting import --server URL --project-key phc_… [OPTIONS] FILE...

Reads JSON lines, or a JSON list, plain or gzip, and sends events, persons and
groups to a server: files of bunting export, PostHog's batch exports of events,
and its lists of events. - is the standard input.

  --server URL       such as http://127.0.0.1:8000; BUNTING_SERVER in the environment
                     by default
  --project-key KEY  the project's public key, for events; BUNTING_PROJECT_KEY in
                     the environment by default
  --key KEY          personal API key with the scope person:write, for persons and
                     groups; BUNTING_KEY in the environment by default
  --project ID       project for persons and groups: its number, name or public key,
                     BUNTING_PROJECT in the environment by default, else that of
                     --project-key, else the only one that --key can access

Events are sent as batches of a historical migration, in the order of the file, and
keep their uuids; an event without a uuid gets one computed from its text, so that
importing a file again creates no duplicates. An event without an $ip gets none, and
no location.

FILE.import stores how far the import is: after an interruption the same command
continues there. It is removed at the end.

Exit code 1 if something was refused or left out; each such line is reported.
` + importFlagsHelp()

// maxRecord is the maximum length of a record, in bytes: that of the longest event, whose
// properties may be JSON in a string.
const maxRecord = 20 << 20

// importer is one run of import.
type importer struct {
	client     *apiClient
	progress   *cli.Progress
	projectKey string
	project    string      // as the command line names it
	into       *projectRef // nil: not resolved yet
	server     string

	state    importState
	batch    importBatch
	reported int // number of reported lines
}

// importState is the content of FILE.import.
type importState struct {
	Server     string `json:"server"`
	ProjectKey string `json:"project_key"`
	// Offset is the decompressed position in bytes up to which the file was imported. Done: all of
	// it was.
	Offset int64 `json:"offset"`
	Done   bool  `json:"done"`
	// The server accepted Sent events and Imported persons and groups, and rejected Rejected
	// records. Skipped records were never sent.
	Sent     int64 `json:"sent"`
	Imported int64 `json:"imported"`
	Rejected int64 `json:"refused"`
	Skipped  int64 `json:"skipped"`
}

// importFiles implements the command import. If its first argument is the name of a format, it
// imports flag definitions instead. The states of the files are removed when all files are
// imported.
func importFiles(ctx context.Context, p *cli.Program, args []string) error {
	if len(args) > 0 {
		if format, ok := convert.Find(args[0]); ok {
			return importDefinitions(ctx, p, format, args[1:])
		}
	}
	i := &importer{progress: cli.NewProgress(p.Stderr)}
	fs := cli.NewFlags("import")
	fs.StringVar(&i.server, "server", p.Env["BUNTING_SERVER"], "")
	fs.StringVar(&i.projectKey, "project-key", p.Env["BUNTING_PROJECT_KEY"], "")
	key := fs.String("key", p.Env["BUNTING_KEY"], "")
	fs.StringVar(&i.project, "project", p.Env[cli.ProjectVariable], "")
	files, err := cli.ParseArgs(fs, args)
	switch {
	case err != nil:
		return err
	case i.server == "":
		hint := ""
		if len(files) > 0 {
			hint = cli.DidYouMean(files[0], cli.Names(convert.Formats, func(f convert.Format) string { return f.Name }), "")
		}
		return cli.BadUsage("import", "--server is missing%s", hint)
	case i.projectKey == "" && *key == "":
		return cli.BadUsage("import", "--project-key is missing (and --key, for persons and groups)")
	case len(files) == 0:
		return cli.BadUsage("import", "give a file, or - for the standard input")
	}
	if i.client, err = newAPIClient(i.server, *key); err != nil {
		return cli.BadUsage("import", "%s", err)
	}
	defer i.client.close()
	i.client.retriesSilence = true
	i.client.onRetry = func(why string, d time.Duration) { i.progress.Println("%s; trying again in %s", why, d) }
	var total importState
	for _, file := range files {
		if err := i.file(ctx, p, file); err != nil {
			i.progress.Clear()
			return fmt.Errorf("%s: %w\n%s so far; run the same command again to continue where it stopped", file, err, i.state.summary())
		}
		total.add(&i.state)
	}
	for _, file := range files {
		if err := os.Remove(stateOf(file)); file != "-" && err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	i.progress.Println("%s%s", total.summary(), i.projectName())
	if total.Rejected+total.Skipped > 0 {
		return cli.ErrReported
	}
	return nil
}

func (s *importState) add(t *importState) {
	s.Sent, s.Imported, s.Rejected, s.Skipped = s.Sent+t.Sent, s.Imported+t.Imported, s.Rejected+t.Rejected, s.Skipped+t.Skipped
}

func (s *importState) summary() string {
	return fmt.Sprintf("%d events sent, %d persons and groups imported, %d refused, %d left out", s.Sent, s.Imported, s.Rejected, s.Skipped)
}

// projectName describes the project that was written to.
func (i *importer) projectName() string {
	switch {
	case i.into != nil:
		return ", in project " + i.into.String()
	case i.projectKey != "":
		return ", in the project of " + i.projectKey
	}
	return ""
}

func stateOf(file string) string { return file + ".import" }

// file imports one file, from the position of its state.
func (i *importer) file(ctx context.Context, p *cli.Program, name string) error {
	i.state, i.batch = importState{Server: i.server, ProjectKey: i.projectKey}, importBatch{}
	in, size, err := p.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if name != "-" {
		if err := i.resume(name); err != nil {
			return err
		}
	}
	if i.state.Done {
		return nil
	}
	from := &cli.Counter{Reader: in}
	all, err := cli.NewRecords(from, maxRecord)
	if err != nil {
		return err
	}
	offset := i.state.Offset
	for {
		if err := ctx.Err(); err != nil {
			return errors.New("interrupted")
		}
		text, err := all.Next()
		if errors.Is(err, io.EOF) {
			i.state.Done = true
			return i.flush(ctx, name, all.Offset)
		}
		if err != nil && !errors.Is(err, cli.ErrTooLong) {
			return errors.Join(fmt.Errorf("cannot be read after record %d: %w", all.Number, err), i.flush(ctx, name, offset))
		}
		if all.Offset <= i.state.Offset {
			continue // imported by the previous run
		}
		if err != nil {
			i.skip(all.Number, fmt.Errorf("has more than %d MiB", maxRecord>>20))
		} else if err := i.take(ctx, name, offset, text, all.Number); err != nil {
			return err
		}
		offset = all.Offset
		i.progress.Show(from.N, size, i.state.summary())
	}
}

// resume continues at the position where an earlier run stopped.
func (i *importer) resume(name string) error {
	var old importState
	resumed, err := readState(stateOf(name), &old)
	if err != nil || !resumed {
		return err
	}
	if old.Server != i.server || old.ProjectKey != i.projectKey {
		return fmt.Errorf("%s belongs to an import into another project; remove it to start over", stateOf(name))
	}
	i.state = old
	i.progress.Println("%s: continuing after %s", name, old.summary())
	return nil
}

// take adds a record to the batch, and sends the batch first if the record does not fit. before is
// the offset of the record, line its line in messages.
func (i *importer) take(ctx context.Context, name string, before int64, text []byte, line int) error {
	kind, item, err := readRecord(text)
	if err != nil {
		i.skip(line, err)
		return nil
	}
	if kind == importEvent && i.projectKey == "" {
		return fmt.Errorf("line %d is an event, and events need --project-key", line)
	}
	if kind == importPerson && i.client.key == "" {
		return fmt.Errorf("line %d is a person or a group, and these need --key", line)
	}
	if !i.batch.canFit(kind, len(item)) {
		if err := i.flush(ctx, name, before); err != nil {
			return err
		}
	}
	i.batch.add(kind, slices.Clone(item), line)
	return nil
}

func (i *importer) skip(line int, why error) {
	i.state.Skipped++
	i.reportLine(line, why.Error())
}

// maxComplaints is the number of lines that are reported individually.
const maxComplaints = 100

func (i *importer) reportLine(line int, why string) {
	if i.reported++; i.reported <= maxComplaints {
		i.progress.Println("line %d %s", line, why)
	} else if i.reported == maxComplaints+1 {
		i.progress.Println("more lines like these are counted but not listed")
	}
}

// flush sends the batch, and then saves that everything before offset was imported.
func (i *importer) flush(ctx context.Context, name string, offset int64) error {
	if err := i.send(ctx, i.batch.items); err != nil {
		i.state.Done = false
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return err
	}
	i.batch.items, i.batch.bytes = nil, 0
	i.state.Offset = offset
	if name == "-" {
		return nil
	}
	return writeState(stateOf(name), &i.state)
}
