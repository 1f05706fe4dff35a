package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/convert"
	"github.com/bunting-flags/bunting/flags/wire"
)

// documentChange is a flag or cohort that a document changes.
type documentChange struct {
	Kind    string `json:"kind"` // flag or cohort
	Name    string `json:"name"`
	Action  string `json:"action"` // create, update or delete
	Changes []struct {
		Field  string          `json:"field"`
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	} `json:"changes"`
	People *struct {
		Changed int  `json:"changed"`
		Counted int  `json:"counted"`
		Of      int  `json:"of"`
		Sample  bool `json:"sample"`
	} `json:"people"`
}

type documentAnswer struct {
	Changes   []documentChange `json:"changes"`
	Unchanged int              `json:"unchanged"`
	Warnings  []string         `json:"warnings"`
}

// documentFormats are the output formats of a plan. JSON is the server's response itself.
var documentFormats = map[string]func(a *documentAnswer, applied bool) string{
	"text": (*documentAnswer).text, "markdown": (*documentAnswer).markdown, "json": nil,
}

func exportFlags(m *manager) runner {
	output := m.fs.String("output", "-", "")
	return func(ctx context.Context, m *manager, _ []string) error {
		var text json.RawMessage
		if err := m.send(ctx, "GET", m.flagsPath("export/"), nil, &text); err != nil {
			return err
		}
		return write(m.Program, *output, string(text)+"\n")
	}
}

// readDocument reads a document of flags. A definitions file, such as bunting import writes, is
// converted into a document: ids are replaced by keys and names, and flags that a server would
// reject are left out, listed and counted in left. With --prune no flags are left out, since the
// server's flags with those keys would be deleted; the server then rejects the document.
func readDocument(m *manager, file string, o *documentOptions) (document []byte, omitted int, err error) {
	text, err := readInput(m.Program, file)
	if err != nil {
		return nil, 0, err
	}
	var definitions struct{ Projects []json.RawMessage }
	if json.Unmarshal(text, &definitions) != nil || definitions.Projects == nil {
		return text, 0, nil
	}
	format, _ := convert.Find("posthog") // this format also reads our definitions files
	result, err := format.Read([]convert.Input{{Name: file, Data: text}}, convert.Options{})
	if err != nil {
		return nil, 0, err
	}
	for _, l := range result.Omissions {
		if l.IsFlagOmitted {
			return nil, 0, fmt.Errorf("%s: flag %q: %s: %s", file, l.Flag, l.Place, l.Reason)
		}
	}
	if result.Omissions = nil; !*o.prune {
		dropInvalid(result)
		omitted = printOmissions(m.Program, result)
	}
	document, err = result.Portable()
	return document, omitted, err
}

// planFlags prints a plan. It returns ErrReported if flags were left out, and ErrChanges if there
// are changes.
func planFlags(ctx context.Context, m *manager, file string, o *documentOptions) error {
	text, omitted, err := readDocument(m, file, o)
	if err != nil {
		return err
	}
	changes, err := m.document(ctx, "plan/", file, text, o)
	switch {
	case err != nil:
		return err
	case omitted > 0:
		return cli.ErrReported
	case changes > 0:
		return cli.ErrChanges
	}
	return nil
}

func applyFlags(ctx context.Context, m *manager, file string, o *documentOptions) error {
	text, omitted, err := readDocument(m, file, o)
	if err == nil && *o.prune {
		err = m.confirmPrune(ctx, file, text, o)
	}
	if err == nil {
		_, err = m.document(ctx, "apply/", file, text, o)
	}
	if err == nil && omitted > 0 {
		err = cli.ErrReported
	}
	return err
}

// confirmPrune requires a confirmation before flags are deleted that a document does not have. On a
// terminal the question contains their number and the first names.
func (m *manager) confirmPrune(ctx context.Context, file string, text []byte, o *documentOptions) error {
	if *m.yes || !m.CanPrompt(m.Stdin) {
		return m.confirm(ctx, "Delete the flags that the file does not have?")
	}
	a, _, err := m.sendDocument(ctx, "plan/", file, text, o)
	if err != nil {
		return err
	}
	var names []string
	for i := range a.Changes {
		if a.Changes[i].Action == "delete" {
			names = append(names, a.Changes[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	count := cli.Plural(len(names), "flag")
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return m.confirm(ctx, fmt.Sprintf("Delete %s that the file does not have: %s?", count, strings.Join(names, ", ")))
}

// document sends a document, prints what it changes or would change, and returns the number of
// changes.
func (m *manager) document(ctx context.Context, what, file string, text []byte, o *documentOptions) (changes int, err error) {
	format := *o.format
	if *m.asJSON {
		format = "json"
	}
	show, ok := documentFormats[format]
	if !ok {
		return 0, cli.BadUsage(m.command, "--format: must be text, json or markdown, not %q", format)
	}
	a, raw, err := m.sendDocument(ctx, what, file, text, o)
	if err != nil {
		return 0, err
	}
	for _, text := range a.Warnings {
		m.warn(text)
	}
	if show == nil {
		return len(a.Changes), m.printJSON(raw)
	}
	return len(a.Changes), m.Print(show(a, what == "apply/"))
}

// sendDocument sends a document and returns the response, decoded and raw.
func (m *manager) sendDocument(ctx context.Context, what, file string, text []byte, o *documentOptions) (*documentAnswer, json.RawMessage, error) {
	path := m.flagsPath(what)
	if *o.prune {
		path += "?prune=true"
	}
	m.client.onWarning = nil // the response contains all warnings
	var raw json.RawMessage
	end, err := m.showWaiting(what, file, text)
	if err != nil {
		return nil, nil, err
	}
	err = m.client.do(ctx, "POST", path, text, &raw)
	end()
	if err != nil {
		return nil, nil, err
	}
	a := new(documentAnswer)
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, nil, fmt.Errorf("the server's response cannot be read: %w", err)
	}
	return a, raw, nil
}

// showWaiting displays that a document is being sent, until end is called.
func (m *manager) showWaiting(what, file string, text []byte) (end func(), err error) {
	var document struct{ Flags, Cohorts []json.RawMessage }
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s is not a document of flags: %w", file, err)
	}
	doing := "planning"
	if what == "apply/" {
		doing = "applying"
	}
	line := fmt.Sprintf("%s %s and %s", doing, cli.Plural(len(document.Flags), "flag"), cli.Plural(len(document.Cohorts), "cohort"))
	p, begun := cli.NewProgress(m.Stderr), time.Now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(cli.BarEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				p.Clear()
				return
			case <-tick.C:
				p.Show(0, 0, fmt.Sprintf("%s, %d s", line, int(time.Since(begun).Seconds())))
			}
		}
	}()
	return func() { close(stop); <-stopped }, nil
}

// signs are the symbols of actions.
var signs = map[string]string{"create": "+", "update": "~", "delete": "-"}

// fields returns the changed values of an update.
func (c *documentChange) fields() (out []fieldChange) {
	if c.Action != "update" {
		return nil
	}
	for _, f := range c.Changes {
		out = fieldChanges(f.Field, wire.Value(f.Before), wire.Value(f.After), out)
	}
	return out
}

// people describes for how many persons the value changes. It is empty if they were not counted.
func (c *documentChange) people() string {
	p := c.People
	switch {
	case p == nil:
		return ""
	case p.Sample:
		return fmt.Sprintf("%d of a sample of %d out of %d people would get another value", p.Changed, p.Counted, p.Of)
	}
	return fmt.Sprintf("%d of %d people would get another value", p.Changed, p.Of)
}

// total returns a summary line.
func (a *documentAnswer) total(applied bool) string {
	verb := "would change"
	if applied {
		verb = "changed"
	}
	return fmt.Sprintf("%d %s, %d unchanged", len(a.Changes), verb, a.Unchanged)
}

// text formats the response for a terminal.
func (a *documentAnswer) text(applied bool) string {
	var b strings.Builder
	for i := range a.Changes {
		c := &a.Changes[i]
		fmt.Fprintf(&b, "%s %s %s", signs[c.Action], c.Kind, c.Name)
		if people := c.people(); people != "" {
			b.WriteString("   " + people)
		}
		b.WriteByte('\n')
		for _, f := range c.fields() {
			b.WriteString("    " + f.text("->", func(s string) string { return s }) + "\n")
		}
	}
	return b.String() + a.total(applied) + "\n"
}

// markdown formats the response for a comment, for example on a pull request.
func (a *documentAnswer) markdown(applied bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n", a.total(applied))
	for i := range a.Changes {
		c := &a.Changes[i]
		fmt.Fprintf(&b, "- %s %s %s", c.Action, c.Kind, code(c.Name))
		if people := c.people(); people != "" {
			b.WriteString(": " + people)
		}
		b.WriteByte('\n')
		for _, f := range c.fields() {
			b.WriteString("  - " + f.text("→", code) + "\n")
		}
	}
	return b.String()
}

// code formats any text as inline code of Markdown.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	longest, run := 0, 0
	for _, c := range text {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		text = " " + text + " "
	}
	return fence + text + fence
}
