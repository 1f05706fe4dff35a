package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// pinView contains the members that are read of a pinned value.
type pinView struct {
	ID     int64 `json:"id"`
	Person *struct {
		Name string `json:"name"`
	} `json:"person"`
	Group *struct {
		Type string `json:"type"`
		Key  string `json:"key"`
	} `json:"group"`
	Value   any     `json:"value"`
	Note    string  `json:"note"`
	Expires *string `json:"expires_at"`
	By      *struct {
		Email string `json:"email"`
	} `json:"created_by"`
}

func (p *pinView) owner() string {
	switch {
	case p.Group != nil:
		return p.Group.Type + "=" + p.Group.Key
	case p.Person != nil:
		return p.Person.Name
	}
	return "-" // erased
}

// showPins prints pinned values, the newest first.
func (m *manager) showPins(list ...pinView) error {
	rows := [][]string{{"PIN", "FOR", "VALUE", "UNTIL", "NOTE", "BY"}}
	for i := range list {
		p, until, author := &list[i], "-", "-"
		if p.Expires != nil {
			until = *p.Expires
		}
		if p.By != nil {
			author = p.By.Email
		}
		rows = append(rows, []string{strconv.FormatInt(p.ID, 10), cli.Cell(p.owner()), cli.Cell(fmt.Sprint(p.Value)), until, cli.Cell(cmp.Or(p.Note, "-")), cli.Cell(author)})
	}
	return m.printTable(rows)
}

// pinsPath returns a path below the pins of a flag.
func (m *manager) pinsPath(ctx context.Context, flag, suffix string) (string, error) {
	f, err := m.findFlagOrID(ctx, flag)
	if err != nil {
		return "", err
	}
	return m.flagsPath(fmt.Sprintf("%d/pins/%s", f.ID, suffix)), nil
}

// listPins lists the persons and groups for which a value of a flag is pinned.
func listPins(ctx context.Context, m *manager, args []string) error {
	path, err := m.pinsPath(ctx, args[0], "")
	if err != nil {
		return err
	}
	return printAll(ctx, m, path, m.showPins)
}

// pinFlag pins a value of a flag for one person or group.
func pinFlag(m *manager) runner {
	distinctID, person := m.fs.String("distinct-id", "", ""), m.fs.String("person", "", "")
	note, until := m.fs.String("note", "", ""), m.fs.String("until", "", "")
	var groups cli.StringList
	m.fs.Var(&groups, "group", "")
	return func(ctx context.Context, m *manager, args []string) error {
		body := map[string]any{"note": *note, "value": args[1]}
		if args[1] == "true" || args[1] == "false" {
			body["value"] = args[1] == "true"
		}
		targets := 0
		for name, id := range map[string]string{"distinct_id": *distinctID, "person_id": *person} {
			if id != "" {
				body[name] = id
				targets++
			}
		}
		group, err := cli.Groups("flags", groups)
		if err != nil {
			return err
		}
		for kind, key := range group {
			body["group"] = map[string]any{"type": kind, "key": key}
			targets++
		}
		if targets != 1 {
			return cli.BadUsage("flags", "pin: give one of --distinct-id ID, --person UUID and --group TYPE=KEY")
		}
		if *until != "" {
			end, err := pinEnd(*until, time.Now())
			if err != nil {
				return err
			}
			body["expires_at"] = end
		}
		path, err := m.pinsPath(ctx, args[0], "")
		if err != nil {
			return err
		}
		var p pinView
		if printed, err := m.fetch(ctx, "POST", path, body, &p); printed || err != nil {
			return err
		}
		return m.showPins(p)
	}
}

// pinEnd parses the end of a pin: a duration from now such as 2h, a date, or a time.
func pinEnd(text string, now time.Time) (string, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d).UTC().Format(time.RFC3339), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Format(time.RFC3339), nil
		}
	}
	return "", cli.BadUsage("flags", "--until: must be a duration or time such as 48h, 2026-01-31 or 2026-01-31T09:00:00Z, not %q", text)
}

// unpinFlag removes a pinned value.
func unpinFlag(ctx context.Context, m *manager, args []string) error {
	if _, err := strconv.ParseInt(args[1], 10, 64); err != nil {
		return cli.BadUsage("flags", "unpin: the pin must be a number from bunting flags pins, not %q", args[1])
	}
	path, err := m.pinsPath(ctx, args[0], args[1]+"/")
	if err != nil {
		return err
	}
	return m.send(ctx, "DELETE", path, nil, nil)
}
