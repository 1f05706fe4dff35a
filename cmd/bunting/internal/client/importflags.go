package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bunting-flags/bunting/adapters/convert"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

func importFlagsHelp() string {
	var b strings.Builder
	b.WriteString(`
Usage: bunting import FORMAT FILE... [OPTIONS]

Converts the flag definitions of another system into a definitions file, for
bunting serve --definitions. A flag that would not answer every user as before is
left out, and listed with the place and the reason. FORMAT is:

`)
	for _, f := range convert.Formats {
		fmt.Fprintf(&b, "  %-14s %s\n", f.Name, f.Summary)
	}
	b.WriteString(`
  --output FILE      - (default) is the standard output
  --rebucket         convert flags for a share of the users too: the share stays,
                     but other people have it
  --environment NAME choose one of several environments in a file
  --project-key KEY  public key of the project that is made, phc_imported by
                     default
  --key KEY          instead of writing a file, make these the flags of a server's
                     project, as bunting flags apply does; then also
                     --server URL and --project ID (BUNTING_PROJECT, else the
                     only project that the key opens)

Exit code 1 when a flag was left out.
`)
	return b.String()
}

// importDefinitions is bunting import with the name of a format.
func importDefinitions(ctx context.Context, p *cli.Program, format convert.Format, args []string) error {
	fs := cli.NewFlags("import")
	output := fs.String("output", "-", "")
	server := fs.String("server", "", "")
	key := fs.String("key", "", "")
	project := fs.String("project", p.Env[cli.ProjectVariable], "")
	var o convert.Options
	fs.BoolVar(&o.Rebucket, "rebucket", false, "")
	fs.StringVar(&o.Environment, "environment", "", "")
	fs.StringVar(&o.ProjectKey, "project-key", "", "")
	files, err := cli.ParseArgs(fs, args)
	switch {
	case err != nil:
		return err
	case len(files) == 0:
		return cli.BadUsage("import", "%s: which file? - is the standard input", format.Name)
	case (*server == "") != (*key == ""):
		return cli.BadUsage("import", "--server and --key go together")
	case *server != "" && *output != "-":
		return cli.BadUsage("import", "--output is for a file, --server for a server: choose one")
	}
	var inputs []convert.Input
	for _, name := range files {
		data, err := readInput(p, name)
		if err != nil {
			return err
		}
		inputs = append(inputs, convert.Input{Name: name, Data: data})
	}
	result, err := format.Read(inputs, o)
	if err != nil {
		return err
	}
	whole := tellLeft(p, result)
	var text []byte
	if *server != "" {
		err = applyDefinitions(ctx, p, result, *server, *key, *project)
	} else if text, err = result.Document(); err == nil {
		err = write(p, *output, string(text))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stderr, "%s converted, %d left out, %s\n", cli.Plural(len(result.Converted), "flag"), whole, cli.Plural(len(result.Left)-whole, "note"))
	if err == nil && whole > 0 {
		return cli.ErrReported
	}
	return err
}

// readInput reads a file, or the standard input for a dash: what is longer than any
// input may be to its last byte but one, so that it is refused as too long.
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

// write writes a file, or the standard output for a dash.
func write(p *cli.Program, output, text string) error {
	if output == "-" {
		return p.Print(text)
	}
	return os.WriteFile(output, []byte(text), 0o644)
}

// tellLeft lists what was not converted, or not wholly, and counts the flags that
// are left out.
func tellLeft(p *cli.Program, r *convert.Result) (whole int) {
	if len(r.Left) == 0 {
		return 0
	}
	rows := [][]string{{"FLAG", "LEFT OUT", "PLACE", "REASON"}}
	for _, l := range r.Left {
		out := "no"
		if l.Whole {
			out = "yes"
			whole++
		}
		rows = append(rows, []string{cli.Cell(l.Flag), out, cli.Cell(l.Place), cli.Cell(l.Reason)})
	}
	_, _ = io.WriteString(p.Stderr, cli.Table(rows))
	return whole
}

// applyDefinitions makes the flags those of a server's project, all or none.
func applyDefinitions(ctx context.Context, p *cli.Program, r *convert.Result, server, key, project string) error {
	doc, err := r.Portable()
	if err != nil {
		return err
	}
	m := &manager{Program: p, command: "import", server: &server, key: &key}
	if err := m.connect(); err != nil {
		return err
	}
	defer m.client.close()
	if m.project, err = m.client.findProject(ctx, project); err != nil {
		return err
	}
	var a documentAnswer
	if err := m.client.do(ctx, "POST", m.flagsPath("apply/"), doc, &a); err != nil {
		return err
	}
	m.nameProject()
	return m.Print(a.text(true))
}
