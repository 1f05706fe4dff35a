package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/codegen"
	"github.com/bunting-flags/bunting/flags"
)

const generateHelp = `Usage: bunting generate go|ts [FILE] [OPTIONS]

Generates source code with a function for each flag: booleans, a type with the
names of the variants, and types that fit the flag's payloads. Code that uses a
deleted flag does not compile.

  bunting generate go flags.json --package features --output features/flags.go
  bunting generate ts --server URL --key KEY --output src/flags.ts

FILE is a definitions file, a payload or a document of bunting flags export;
without FILE the flags are read from a server.

  --output FILE       - (default) is the standard output
  --check             write nothing; exit code 2 if --output is not up to date
  --package NAME      name of the Go package; features by default
  --strict            write nothing and exit with code 2 if two keys give the same
                      name; by default the later key, in byte order, gets the
                      suffix _2, which a warning and a comment report
  --schema KEY=FILE   JSON schema of a flag's payloads, instead of examples; may be
                      repeated
` + projectOption + managerOptions

var generateActions = []action{
	{name: "go", project: readsProject, orFile: true, options: func(m *manager) runner {
		pkg := m.fs.String("package", "features", "")
		return generator(m, func(list []flags.Flag, from string, schemas map[string]json.RawMessage) (codegen.Source, error) {
			return codegen.Go(list, *pkg, from, schemas)
		})
	}},
	{name: "ts", project: readsProject, orFile: true, options: func(m *manager) runner { return generator(m, codegen.TypeScript) }},
}

// generator returns an action that generates code with source. With --check it only compares the
// result with the existing file.
func generator(m *manager, source func([]flags.Flag, string, map[string]json.RawMessage) (codegen.Source, error)) runner {
	var schemas cli.StringList
	output, check, strict := m.fs.String("output", "-", ""), m.fs.Bool("check", false, ""), m.fs.Bool("strict", false, "")
	m.fs.Var(&schemas, "schema", "")
	return func(ctx context.Context, m *manager, args []string) error {
		d, from, err := m.definitions(ctx, args)
		if err != nil {
			return err
		}
		byFlag, err := readSchemas(schemas)
		if err != nil {
			return err
		}
		code, err := source(d.Flags, from, byFlag)
		if err != nil {
			return err
		}
		for _, text := range code.Renamed {
			_, _ = fmt.Fprintln(m.Stderr, cli.Cell(text))
		}
		if *strict && len(code.Renamed) > 0 {
			return cli.ErrChanges
		}
		if !*check {
			return write(m.Program, *output, string(code.Text))
		}
		if *output == "-" {
			return cli.BadUsage(m.command, "--check needs --output")
		}
		have, err := os.ReadFile(*output)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if !bytes.Equal(have, code.Text) {
			_, _ = fmt.Fprintf(m.Stderr, "%s is not up to date: run it again without --check\n", *output)
			return cli.ErrChanges
		}
		return nil
	}
}

// definitions returns the definitions of the named file, or of the server if args is empty.
func (m *manager) definitions(ctx context.Context, args []string) (d flags.Definitions, from string, err error) {
	if len(args) == 0 {
		var text json.RawMessage
		if err := m.send(ctx, "GET", m.flagsPath("export/"), nil, &text); err != nil {
			return d, "", err
		}
		d, err = definitionsOf("the server's flags", text, "")
		return d, "project " + m.project.String(), err
	}
	text, err := readInput(m.Program, args[0])
	if err == nil {
		d, err = definitionsOf(args[0], text, *m.projectName)
	}
	return d, filepath.Base(args[0]), err
}

// definitionsOf parses definitions. If a file has several projects, project selects one by its
// public key or name.
func definitionsOf(name string, text []byte, project string) (flags.Definitions, error) {
	f, err := flags.ParsePayload(text, "file")
	if err != nil {
		return flags.Definitions{}, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "flags: "))
	}
	var found []*flags.FileProject
	for i := range f.Projects {
		if p := &f.Projects[i]; len(f.Projects) == 1 || p.APIKey == project || p.Name == project {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return flags.Definitions{}, fmt.Errorf("%s has %s: choose one with --project, by its key or name", name, cli.Plural(len(f.Projects), "project"))
	}
	return found[0].Definitions, nil
}

// readSchemas reads the files of the option --schema KEY=FILE.
func readSchemas(named []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, text := range named {
		key, file, ok := strings.Cut(text, "=")
		if !ok {
			return nil, cli.BadUsage("generate", "--schema must be KEY=FILE, not %q", text)
		}
		schema, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !json.Valid(schema) {
			return nil, fmt.Errorf("%s is not valid JSON", file)
		}
		out[key] = schema
	}
	return out, nil
}
