package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// versionView contains the members that are read of a flag's version.
type versionView struct {
	flagView
	At string `json:"created_at"`
	By *struct {
		Email string `json:"email"`
	} `json:"created_by"`
	Tags []string `json:"tags"`
}

// historyFlag lists the versions of a flag, the newest first.
func historyFlag(ctx context.Context, m *manager, args []string) error {
	f, err := m.findFlagOrID(ctx, args[0])
	if err != nil {
		return err
	}
	return printAll(ctx, m, m.flagsPath(strconv.FormatInt(f.ID, 10)+"/versions/"), m.showVersions)
}

// showVersions prints versions, the newest first.
func (m *manager) showVersions(list ...versionView) error {
	rows := [][]string{{"VERSION", "WHEN", "BY", "STATE", "WHO", "VARIANTS", "CHANGED"}}
	for i := range list {
		v, author := &list[i], "-"
		if v.By != nil {
			author = v.By.Email
		}
		changed := "made"
		if i+1 < len(list) {
			changed = strings.Join(v.changes(&list[i+1]), ", ")
		} else if v.Version > 1 {
			changed = "-" // the previous version is no longer stored
		}
		rows = append(rows, []string{strconv.FormatInt(v.Version, 10), v.At, cli.Cell(author), v.state(), v.summary(), v.variants(), cli.Cell(changed)})
	}
	return m.printTable(rows)
}

// changes returns the names of the members that differ from the previous version.
func (v *versionView) changes(before *versionView) []string {
	differs := map[string]bool{
		"key": v.Key != before.Key, "name": v.Name != before.Name, "active": v.Active != before.Active, "deleted": v.Deleted != before.Deleted,
		"tags": !slices.Equal(v.Tags, before.Tags),
	}
	names := map[string]json.RawMessage{}
	maps.Copy(names, v.Filters)
	maps.Copy(names, before.Filters)
	for name := range names {
		label := name
		if !slices.Contains([]string{"groups", "multivariate", "payloads"}, name) {
			label = "filters"
		}
		differs[label] = differs[label] || !sameJSON(v.Filters[name], before.Filters[name])
	}
	maps.DeleteFunc(differs, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(differs))
}

// sortedJSON encodes a value as JSON without spaces, with sorted members.
func sortedJSON(v any) []byte {
	text, _ := json.Marshal(v) // decoded JSON can always be encoded
	return text
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	_, _ = json.Unmarshal(a, &x), json.Unmarshal(b, &y) // an absent value equals null
	return bytes.Equal(sortedJSON(x), sortedJSON(y))
}

// restoreFlag makes an earlier version the next one.
func restoreFlag(ctx context.Context, m *manager, args []string) error {
	version, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return cli.BadUsage("flags", "restore: the version must be a number from bunting flags history, not %q", args[1])
	}
	f, err := m.findFlagOrID(ctx, args[0])
	if err != nil {
		return err
	}
	return m.saveFlag(ctx, "POST", m.flagsPath(fmt.Sprintf("%d/restore/", f.ID)), map[string]any{"version": version})
}

// findFlagOrID returns the flag with a key, else with an id, which also finds deleted flags.
func (m *manager) findFlagOrID(ctx context.Context, named string) (*flagView, error) {
	f, _, err := m.findFlag(ctx, named)
	if id, bad := strconv.ParseInt(named, 10, 64); err == nil || bad != nil || id <= 0 {
		return f, err
	}
	var found flagView
	if byID := m.send(ctx, "GET", m.flagsPath(pathPart(named)+"/"), nil, &found); byID != nil {
		return nil, err
	}
	return &found, nil
}
