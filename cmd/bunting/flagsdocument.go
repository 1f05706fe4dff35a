package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// documentChange is a flag or cohort that a document changes.
type documentChange struct {
	Kind    string `json:"kind"` // flag, cohort
	Name    string `json:"name"`
	Action  string `json:"action"` // create, update, delete
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
}

func exportFlags(m *manager, ctx context.Context, _ []string, options any) error {
	var text json.RawMessage
	if err := m.send(ctx, "GET", m.flagsPath("export/"), nil, &text); err != nil {
		return err
	}
	text = append(text, '\n')
	if output := *options.(*documentOptions).output; output != "-" {
		return os.WriteFile(output, text, 0o644)
	}
	return m.print(string(text))
}

func planFlags(m *manager, ctx context.Context, args []string, options any) error {
	return m.document(ctx, "plan/", args[0], *options.(*documentOptions).prune)
}

func applyFlags(m *manager, ctx context.Context, args []string, options any) error {
	prune := *options.(*documentOptions).prune
	if prune {
		if err := m.confirm(ctx, "Delete the flags that the file does not have?"); err != nil {
			return err
		}
	}
	return m.document(ctx, "apply/", args[0], prune)
}

func (m *manager) document(ctx context.Context, what, file string, prune bool) error {
	text, err := m.readInput(file)
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("%s is no JSON", file)
	}
	path := m.flagsPath(what)
	if prune {
		path += "?prune=true"
	}
	var raw json.RawMessage
	if err := m.client.do(ctx, "POST", path, text, &raw); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(raw)
	}
	var a documentAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return m.print(a.text(what == "apply/"))
}

// signs are how actions are shown.
var signs = map[string]string{"create": "+", "update": "~", "delete": "-"}

// text is the answer for people.
func (a *documentAnswer) text(applied bool) string {
	var b strings.Builder
	for _, c := range a.Changes {
		fmt.Fprintf(&b, "%s %s %s", signs[c.Action], c.Kind, c.Name)
		if p := c.People; p != nil {
			of := fmt.Sprintf("%d people", p.Of)
			if p.Sample {
				of = fmt.Sprintf("a sample of %d out of %d people", p.Counted, p.Of)
			}
			fmt.Fprintf(&b, "   %d of %s would see another value", p.Changed, of)
		}
		b.WriteByte('\n')
		if c.Action == "update" {
			for _, f := range c.Changes {
				fmt.Fprintf(&b, "    %s: %s -> %s\n", f.Field, orNone(f.Before), orNone(f.After))
			}
		}
	}
	done := "would change"
	if applied {
		done = "changed"
	}
	fmt.Fprintf(&b, "%d %s, %d stay as they are\n", len(a.Changes), done, a.Unchanged)
	return b.String()
}

func orNone(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "(none)"
	}
	return string(raw)
}
