package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/codegen"
)

const unusedHelp = `Usage: bunting unused --code DIR [FILE] [OPTIONS]

Searches source code for the flags of FILE (definitions, a payload or a document
of bunting flags export) or of a server, and lists:

  flags that no code uses, with the time of each flag's last call
  code that reads flags that do not exist, with its place

Code uses a flag if it contains the key as a string, or a function that bunting
generate wrote for the flag. Keys that are built at run time are not found. Files
are read up to 4 MiB; hidden folders and package folders are skipped. Files that are
larger, cannot be parsed or are in UTF-16 are listed: the last two are searched as
plain text, which may find less.

  --code DIR        where the code is; . by default
` + projectOption + managerOptions + `  --json            print JSON

Exit code 2 if there is something to list.
`

// unusedFlag is a flag that no source code uses.
type unusedFlag struct {
	Key    string  `json:"key"`
	Active bool    `json:"active"`
	Called *string `json:"last_called_at"` // time of the last exposure; null: never, or unknown because the flags are from a file
}

type unknownUse struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Key  string `json:"key"`
}

// doubtfulFile is a file that may have been searched only in part.
type doubtfulFile struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
}

type unusedAnswer struct {
	Files    int          `json:"files"`
	TooLarge int          `json:"files_too_large"`
	Unused   []unusedFlag `json:"unused"`
	Strange  []unknownUse `json:"unknown"`
	// Doubts are files that may have been searched only in part.
	Doubts []doubtfulFile `json:"doubtful_files"`
}

var unusedAction = action{project: readsProject, orFile: true, options: func(m *manager) runner {
	code := m.fs.String("code", ".", "")
	return func(ctx context.Context, m *manager, args []string) error { return m.unused(ctx, *code, args) }
}}

// unused searches the code below dir, and returns ErrChanges if there are unused flags or reads of
// unknown keys.
func (m *manager) unused(ctx context.Context, dir string, args []string) error {
	list, err := m.flagsToSearch(ctx, args)
	if err != nil {
		return err
	}
	keys := cli.Names(list, func(f unusedFlag) string { return f.Key })
	found, err := codegen.Search(dir, keys)
	if err != nil {
		return err
	}
	if found.Files == 0 {
		return fmt.Errorf("there is no source code below %s", dir)
	}
	unused := found.Unused(keys)
	out := unusedAnswer{Files: found.Files, TooLarge: found.TooLarge, Strange: []unknownUse{}, Doubts: []doubtfulFile{}, Unused: slices.DeleteFunc(list, func(f unusedFlag) bool {
		return !slices.Contains(unused, f.Key)
	})}
	for _, use := range found.Strange {
		out.Strange = append(out.Strange, unknownUse(use))
	}
	for _, doubt := range found.Doubts {
		out.Doubts = append(out.Doubts, doubtfulFile(doubt))
	}
	if *m.asJSON {
		err = m.printJSON(out)
	} else {
		err = m.Print(out.text(len(args) == 0))
	}
	if err == nil && len(out.Unused)+len(out.Strange) > 0 {
		err = cli.ErrChanges
	}
	return err
}

// flagsToSearch returns the flags that are not deleted.
func (m *manager) flagsToSearch(ctx context.Context, args []string) (list []unusedFlag, err error) {
	if len(args) == 0 {
		list, err = pages[unusedFlag](ctx, m.client, m.flagsPath(""))
	} else {
		d, _, readErr := m.definitions(ctx, args)
		err = readErr
		for i := range d.Flags {
			if f := &d.Flags[i]; !f.Deleted && f.Key != "" {
				list = append(list, unusedFlag{Key: f.Key, Active: f.Active})
			}
		}
	}
	slices.SortFunc(list, func(a, b unusedFlag) int { return strings.Compare(a.Key, b.Key) })
	return list, err
}

func (a *unusedAnswer) text(called bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of source code read", cli.Plural(a.Files, "file"))
	if a.TooLarge > 0 {
		fmt.Fprintf(&b, ", %d too large and left out", a.TooLarge)
	}
	b.WriteString("\n")
	if len(a.Unused) > 0 {
		b.WriteString("\nflags that no code uses\n")
	}
	for _, f := range a.Unused {
		fmt.Fprintf(&b, "  %s", cli.Cell(f.Key))
		if !f.Active {
			b.WriteString("  (off)")
		}
		switch {
		case called && f.Called == nil:
			b.WriteString("  never called")
		case f.Called != nil:
			b.WriteString("  last called " + *f.Called)
		}
		b.WriteString("\n")
	}
	if len(a.Strange) > 0 {
		b.WriteString("\ncode that reads flags that do not exist\n")
	}
	for _, s := range a.Strange {
		fmt.Fprintf(&b, "  %s:%d: %s\n", s.File, s.Line, cli.Cell(s.Key))
	}
	if len(a.Doubts) > 0 {
		b.WriteString("\nfiles that may not be fully searched\n")
	}
	for _, d := range a.Doubts {
		fmt.Fprintf(&b, "  %s: %s\n", d.File, cli.Cell(d.Problem))
	}
	if len(a.Unused)+len(a.Strange) == 0 {
		b.WriteString("every flag is used, and every key that is read is a flag's\n")
	}
	return b.String()
}
