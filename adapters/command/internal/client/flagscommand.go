package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const flagsHelp = `Usage: bunting flags ACTION [OPTIONS]

Manages the feature flags of a server.

  bunting flags list
  bunting flags get KEY
  bunting flags set KEY [--rollout N] [--variants a=50,b=50] [--payload JSON]
                        [--payload VARIANT=JSON]... [--name TEXT]
                        [--filters FILE] [--off]
                                    creates the flag, or changes what is given
  bunting flags enable KEY
  bunting flags disable KEY
  bunting flags delete KEY [--yes]
  bunting flags export [--output FILE]
                                    writes all flags and cohorts as one document
  bunting flags plan FILE [--prune]
                                    shows what apply would do, and how many
                                    people would get another value; exit code 2
                                    if there is something to change
  bunting flags apply FILE [--prune [--yes]]
                                    makes the server's flags equal to the file,
                                    all or none; FILE was written by export or
                                    by bunting import. Flags of an import that
                                    the server would refuse are left out and
                                    listed, with exit code 1; not with --prune
  bunting flags history KEY         lists the flag's versions, who made them and
                                    what changed
  bunting flags restore KEY VERSION
                                    makes an earlier version the current one
  bunting flags why KEY (--distinct-id ID | --person UUID) [--property K=V]
                        [--group TYPE=KEY] [--at TIME] [--flag-version N]
                                    shows the flag's value for a person, the
                                    reason, and the value the person last got
  bunting flags calls KEY [--from -7d] [--interval day|hour|minute]
                        [--count calls|people|evaluations]
                                    how often the flag was called, by value
  bunting flags pin KEY VALUE (--distinct-id ID | --person UUID |
                        --group TYPE=KEY) [--note TEXT] [--until TIME]
                                    fixes the value for a person or group,
                                    whatever the flag's conditions: true, false
                                    or a variant
  bunting flags pins KEY            lists the pinned values
  bunting flags unpin KEY PIN

  --rollout N       percentage of the first condition
  --variants LIST   keys with their shares in percent, 100 together
  --payload JSON    the flag's payload; for a flag with variants VARIANT=JSON,
                    which may be repeated
  --filters FILE    all filters as JSON; - is the standard input
  --off             create the flag disabled
  --prune           delete flags that the file does not have
  --format FORMAT   text (default), json or markdown, with a line for each value
                    that changes
  --output FILE     - (default) is the standard output
  --distinct-id ID  the person's distinct id; --person UUID is a stored person
  --property K=V    person property that replaces the stored one; V is JSON, or
                    text if it is not valid JSON; may be repeated
  --group TYPE=KEY  group; may be repeated
  --at TIME         evaluate at this time, with what is stored now
  --flag-version N  evaluate an earlier version
  --from TIME       start of the period, such as -7d (default), -1h or 2026-01-31
  --interval EACH   period of one row: day (default), hour or minute
  --note TEXT       why the value is pinned
  --until TIME      when a pin ends, such as 48h or 2026-01-31; never by default
  --count WHAT      calls that SDKs report (default), people with calls, or
                    evaluations by the server
` + projectOption + yesHelp + managerOptions + `  --json            print JSON
`

type flagSetOptions struct {
	rollout, variants, name, filters *string
	payloads                         cli.StringList
	off                              *bool
}

type documentOptions struct {
	prune  *bool
	format *string
}

// withDocument returns the options of an action on a document.
func withDocument(run func(ctx context.Context, m *manager, file string, o *documentOptions) error) func(*manager) runner {
	return func(m *manager) runner {
		o := &documentOptions{prune: m.fs.Bool("prune", false, ""), format: m.fs.String("format", "text", "")}
		return func(ctx context.Context, m *manager, args []string) error { return run(ctx, m, args[0], o) }
	}
}

// change returns an action that sets a boolean member of a flag.
func change(member string, to bool) runner {
	return func(ctx context.Context, m *manager, args []string) error {
		return m.patchFlag(ctx, args[0], map[string]any{member: to})
	}
}

var flagActions = []action{
	{name: "list", project: readsProject, run: listFlags},
	{name: "get", project: readsProject, args: []string{"KEY"}, run: getFlag},
	{name: "set", project: writesProject, args: []string{"KEY"}, options: func(m *manager) runner {
		o := &flagSetOptions{
			rollout: m.fs.String("rollout", "", ""), variants: m.fs.String("variants", "", ""),
			name: m.fs.String("name", "", ""), filters: m.fs.String("filters", "", ""), off: m.fs.Bool("off", false, ""),
		}
		m.fs.Var(&o.payloads, "payload", "")
		return o.set
	}},
	{name: "enable", project: writesProject, args: []string{"KEY"}, run: change("active", true)},
	{name: "disable", project: writesProject, args: []string{"KEY"}, run: change("active", false)},
	{name: "delete", project: writesProject, args: []string{"KEY"}, needsConfirmation: true, run: func(ctx context.Context, m *manager, args []string) error {
		if err := m.confirm(ctx, fmt.Sprintf("Delete the flag %q?", args[0])); err != nil {
			return err
		}
		return change("deleted", true)(ctx, m, args)
	}},
	{name: "export", project: readsProject, options: exportFlags},
	{name: "plan", project: readsProject, args: []string{"FILE"}, options: withDocument(planFlags)},
	{name: "apply", project: writesProject, args: []string{"FILE"}, needsConfirmation: true, options: withDocument(applyFlags)},
	{name: "history", project: readsProject, args: []string{"KEY"}, run: historyFlag},
	{name: "restore", project: writesProject, args: []string{"KEY", "VERSION"}, run: restoreFlag},
	{name: "why", project: readsProject, args: []string{"KEY"}, options: whyFlag},
	{name: "pins", project: readsProject, args: []string{"KEY"}, run: listPins},
	{name: "pin", project: writesProject, args: []string{"KEY", "VALUE"}, options: pinFlag},
	{name: "unpin", project: writesProject, args: []string{"KEY", "PIN"}, run: unpinFlag},
	{name: "calls", project: readsProject, args: []string{"KEY"}, options: callsOfFlag},
}

// flagView contains the members that are read of a flag.
type flagView struct {
	ID      int64                      `json:"id"`
	Key     string                     `json:"key"`
	Name    string                     `json:"name"`
	Active  bool                       `json:"active"`
	Deleted bool                       `json:"deleted"`
	Version int64                      `json:"version"`
	Status  string                     `json:"status"`
	Filters map[string]json.RawMessage `json:"filters"`
}

// condition contains the members that are read of a condition.
type condition struct {
	Properties []json.RawMessage `json:"properties"`
	Rollout    *float64          `json:"rollout_percentage"`
}

func (f *flagView) conditions() (out []condition) {
	_ = json.Unmarshal(f.Filters["groups"], &out) // unreadable conditions are not summarized
	return out
}

// summary describes briefly which users the flag is on for.
func (f *flagView) summary() string {
	var out []string
	for _, c := range f.conditions() {
		share := 100.0
		if c.Rollout != nil {
			share = *c.Rollout
		}
		text := strconv.FormatFloat(share, 'f', -1, 64) + "%"
		if n := len(c.Properties); n == 1 {
			text += " of 1 property"
		} else if n > 1 {
			text += fmt.Sprintf(" of %d properties", n)
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "nobody"
	}
	return strings.Join(out, " | ")
}

func (f *flagView) variants() string {
	var multivariate struct {
		Variants []struct {
			Key     string  `json:"key"`
			Rollout float64 `json:"rollout_percentage"`
		} `json:"variants"`
	}
	_ = json.Unmarshal(f.Filters["multivariate"], &multivariate) // null if there are none
	var out []string
	for _, v := range multivariate.Variants {
		out = append(out, v.Key+"="+strconv.FormatFloat(v.Rollout, 'f', -1, 64))
	}
	return strings.Join(out, ",")
}

func (f *flagView) state() string {
	switch {
	case f.Deleted:
		return "deleted"
	case f.Active:
		return "on"
	}
	return "off"
}

func (m *manager) showFlags(list ...flagView) error {
	rows := [][]string{{"KEY", "STATE", "WHO", "VARIANTS", "VERSION", "NAME"}}
	for _, f := range list {
		rows = append(rows, []string{cli.Cell(f.Key), f.state(), f.summary(), cli.Cell(f.variants()), strconv.FormatInt(f.Version, 10), cli.Cell(f.Name)})
	}
	return m.printTable(rows)
}

func (m *manager) flagsPath(suffix string) string { return m.inProject("/feature_flags/" + suffix) }

func listFlags(ctx context.Context, m *manager, _ []string) error {
	return printAll(ctx, m, m.flagsPath(""), m.showFlags)
}

var errNoFlag = errors.New("there is no such flag")

// findFlag returns the flag with a key.
func (m *manager) findFlag(ctx context.Context, key string) (*flagView, json.RawMessage, error) {
	list, err := pages[json.RawMessage](ctx, m.client, m.flagsPath("?search="+url.QueryEscape(key)))
	if err != nil {
		return nil, nil, err
	}
	for _, raw := range list {
		var f flagView
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, nil, fmt.Errorf("the server's response cannot be read: %w", err)
		}
		if f.Key == key {
			return &f, raw, nil
		}
	}
	return nil, nil, fmt.Errorf("flag %q: %w", key, errNoFlag)
}

func getFlag(ctx context.Context, m *manager, args []string) error {
	_, raw, err := m.findFlag(ctx, args[0])
	if err != nil {
		return err
	}
	return m.printJSON(raw)
}

// saveFlag sends a change and prints the resulting flag.
func (m *manager) saveFlag(ctx context.Context, method, path string, body any) error {
	var f flagView
	if printed, err := m.fetch(ctx, method, path, body, &f); printed || err != nil {
		return err
	}
	return m.showFlags(f)
}

func (m *manager) patchFlag(ctx context.Context, key string, change map[string]any) error {
	f, _, err := m.findFlag(ctx, key)
	if err != nil {
		return err
	}
	return m.saveFlag(ctx, "PATCH", m.flagsPath(strconv.FormatInt(f.ID, 10)+"/"), change)
}

// set creates a flag, or changes the flag that has the key. A change contains the version that was
// read, so that the server detects conflicts.
func (o *flagSetOptions) set(ctx context.Context, m *manager, args []string) error {
	old, _, err := m.findFlag(ctx, args[0])
	if err != nil && !errors.Is(err, errNoFlag) {
		return err
	}
	filters, changed, err := o.apply(m, old)
	if err != nil {
		return err
	}
	body := map[string]any{}
	if changed || old == nil {
		body["filters"] = filters
	}
	if *o.name != "" {
		body["name"] = *o.name
	}
	if old != nil {
		if len(body) == 0 {
			return cli.BadUsage("flags", "set: give what to change, such as --rollout 50")
		}
		body["version"] = old.Version
		return m.saveFlag(ctx, "PATCH", m.flagsPath(strconv.FormatInt(old.ID, 10)+"/"), body)
	}
	body["key"], body["active"] = args[0], !*o.off
	return m.saveFlag(ctx, "POST", m.flagsPath(""), body)
}

// apply merges the options into the filters of a flag. old is nil for a new flag.
func (o *flagSetOptions) apply(m *manager, old *flagView) (filters map[string]json.RawMessage, changed bool, err error) {
	filters = map[string]json.RawMessage{"groups": json.RawMessage(`[{"properties":[],"rollout_percentage":100}]`)}
	if old != nil && old.Filters != nil {
		filters = old.Filters
	}
	if *o.filters != "" {
		text, err := readInput(m.Program, *o.filters)
		if err != nil {
			return nil, false, err
		}
		filters, changed = nil, true
		if err := json.Unmarshal(text, &filters); err != nil {
			return nil, false, fmt.Errorf("--filters: %w", err)
		}
		if filters == nil { // the JSON is null
			return nil, false, errors.New("--filters: must be a JSON object")
		}
	}
	if *o.rollout != "" {
		share, err := strconv.ParseFloat(strings.TrimSuffix(*o.rollout, "%"), 64)
		if err != nil || !(share >= 0 && share <= 100) { // NaN is neither
			return nil, false, cli.BadUsage("flags", "--rollout: must be a percentage from 0 to 100, not %q", *o.rollout)
		}
		if filters["groups"], err = withRollout(filters["groups"], share); err != nil {
			return nil, false, err
		}
		changed = true
	}
	if *o.variants != "" {
		if filters["multivariate"], err = variantsOf(*o.variants); err != nil {
			return nil, false, err
		}
		changed = true
	}
	for _, text := range o.payloads {
		if filters["payloads"], err = withPayload(filters["payloads"], text); err != nil {
			return nil, false, err
		}
		changed = true
	}
	return filters, changed, nil
}

// withRollout sets the rollout percentage of the first condition.
func withRollout(groups json.RawMessage, share float64) (json.RawMessage, error) {
	var list []map[string]json.RawMessage
	if len(groups) > 0 {
		if err := json.Unmarshal(groups, &list); err != nil {
			return nil, fmt.Errorf("the flag's conditions cannot be read: %w", err)
		}
	}
	if len(list) == 0 {
		list = []map[string]json.RawMessage{{"properties": json.RawMessage("[]")}}
	}
	if list[0] == nil {
		return nil, errors.New("the flag's conditions cannot be read: the first is null")
	}
	list[0]["rollout_percentage"] = json.RawMessage(strconv.FormatFloat(share, 'f', -1, 64))
	return json.Marshal(list)
}

// withPayload adds a payload of the command line: JSON for a flag that is on, or VARIANT=JSON.
func withPayload(payloads json.RawMessage, text string) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(payloads) > 0 {
		if err := json.Unmarshal(payloads, &all); err != nil {
			return nil, fmt.Errorf("the flag's payloads cannot be read: %w", err)
		}
	}
	key, payload := "true", text
	if !json.Valid([]byte(text)) {
		var found bool
		if key, payload, found = strings.Cut(text, "="); !found || key == "" || !json.Valid([]byte(payload)) {
			return nil, cli.BadUsage("flags", "--payload: must be JSON or VARIANT=JSON, such as red='{\"hex\":\"f00\"}', not %q", text)
		}
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	all[key], _ = json.Marshal(payload) // strings can always be encoded
	return json.Marshal(all)
}

func variantsOf(text string) (json.RawMessage, error) {
	type variant struct {
		Key     string  `json:"key"`
		Name    string  `json:"name"`
		Rollout float64 `json:"rollout_percentage"`
	}
	var list []variant
	for _, part := range cli.SplitList(text) {
		key, share, found := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(share, 64)
		if !found || err != nil || key == "" || !isFinite(n) {
			return nil, cli.BadUsage("flags", "--variants: must be like control=50,test=50, not %q", part)
		}
		list = append(list, variant{Key: key, Rollout: n})
	}
	return json.Marshal(map[string]any{"variants": list})
}
