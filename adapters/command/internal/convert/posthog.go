package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// PostHog's definitions have our format: they are merged from several documents, checked, and
// stored unchanged.

// postHog collects the contents of the documents.
type postHog struct {
	b          *builder
	flags      []*node
	cohorts    map[int64]*node
	names      map[string]int64 // of cohorts
	groupTypes map[string]any
	settings   map[string]any
	ids        map[string]int64 // of flags, by key
	usedIDs    map[int64]bool
	lists      bool // the documents are lists only, which have no settings
	omitted    map[string]bool
	keys       map[int64]string    // of flags, by id
	badCohorts []string            // ids, as text
	dependants map[string][]string // keys of flags by the key of the flag that they depend on
}

// settingsOf are members of a payload or a project besides flags and cohorts.
var settingsOf = []string{"timezone", "bucketing_hash", "property_matching_version", "minimal_flag_called_events", "static_cohorts", "empty_cohorts", "behavioral_cohorts"}

// readPostHog merges several documents into one project. Lists contain no settings of the project,
// which is noted.
func readPostHog(files []Input, o Options) (*Result, error) {
	p := &postHog{
		b: newBuilder(o), cohorts: map[int64]*node{}, names: map[string]int64{}, groupTypes: map[string]any{}, settings: map[string]any{},
		ids: map[string]int64{}, usedIDs: map[int64]bool{}, lists: true, omitted: map[string]bool{}, keys: map[int64]string{}, dependants: map[string][]string{},
	}
	for _, f := range files {
		doc, err := decode(f.Data)
		if err == nil {
			err = guard(func() error { p.document(doc); return nil })
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if p.lists {
		p.b.omissions = append(p.b.omissions, Omission{Place: "timezone", Reason: "a list of flags does not have the project's settings: UTC and property_matching_version 1 are used"})
	}
	return p.result()
}

// document adds one document, in any of PostHog's formats or ours.
func (p *postHog) document(doc *node) {
	if _, isList := doc.value.([]any); isList {
		p.list(doc)
		return
	}
	doc.object()
	switch {
	case doc.has("projects"):
		list := doc.get("projects").items()
		if len(list) != 1 {
			doc.get("projects").refuse("has %d projects, but only one can be imported at a time", len(list))
		}
		p.definitions(list[0])
	case doc.has("results"):
		p.list(doc.get("results"))
	case doc.has("flags"):
		p.definitions(doc)
	default:
		doc.refuse("has neither flags nor results nor projects: it is not a definitions payload, list or file")
	}
}

// definitions adds the flags, cohorts and group types of a definitions payload or a project. Its
// settings must equal those of the other documents.
func (p *postHog) definitions(doc *node) {
	doc.object()
	p.lists = false
	for _, f := range doc.get("flags").items() {
		p.flag(f)
	}
	for _, name := range settingsOf {
		if v, ok := p.settings[name]; ok && string(wire.MustEncode(v)) != string(doc.get(name).json()) {
			doc.get(name).refuse("is not the same in all files")
		}
		if doc.has(name) {
			p.settings[name] = doc.get(name).value
		}
	}
	for _, t := range doc.get("group_type_mapping").members() {
		p.groupTypes[t.name] = t.value
	}
	if _, isList := doc.get("cohorts").value.([]any); isList {
		p.list(doc.get("cohorts"))
		return
	}
	for _, c := range doc.get("cohorts").members() {
		id, err := strconv.ParseInt(c.name, 10, 64)
		if err != nil {
			c.refuse("a cohort's id is a whole number")
		}
		p.cohort(id, c)
	}
}

// list adds a list of flags, cohorts or group types, which are distinguished by their members.
func (p *postHog) list(n *node) {
	for _, item := range n.items() {
		item.object()
		switch {
		case item.has("group_type_index"):
			p.groupTypes[string(item.get("group_type_index").json())] = item.get("group_type").value
		case item.has("key") || item.has("active"):
			p.flag(item)
		case item.has("filters") || item.has("is_static") || item.has("groups"):
			id := int64(0)
			if item.get("id").value != nil {
				id = int64(item.get("id").number())
			} else {
				id = freeID("cohort "+item.get("name").textOr(), func(id int64) bool { return p.cohorts[id] != nil })
			}
			p.cohort(id, item)
		default:
			item.refuse("is neither a flag nor a cohort nor a group type")
		}
	}
}

func (p *postHog) cohort(id int64, n *node) {
	if p.cohorts[id] != nil {
		return
	}
	p.cohorts[id] = n
	if obj, ok := n.value.(map[string]any); ok {
		if name, ok := obj["name"].(string); ok {
			p.names[name] = id
		}
	}
}

// flag adds a flag. Its id is used unless it is missing, invalid or already used.
func (p *postHog) flag(n *node) {
	n.object()
	key, ok := n.get("key").value.(string)
	if !ok || key == "" {
		p.omit(short(string(n.get("id").json())), n.get("key").path(), "a flag needs a key")
		return
	}
	if _, twice := p.ids[key]; twice {
		p.b.omissions = append(p.b.omissions, Omission{Flag: key, Place: n.path(), Reason: "there are two flags with this key: the first one is used", IsFlagOmitted: true})
		return
	}
	p.ids[key] = 0
	if num, ok := n.get("id").value.(json.Number); ok {
		if id, err := num.Int64(); err == nil && id > 0 && !p.usedIDs[id] {
			p.ids[key], p.usedIDs[id] = id, true
		}
	}
	p.flags = append(p.flags, n)
}

func (p *postHog) omit(key, path, reason string) {
	if !p.omitted[key] {
		p.omitted[key] = true
		p.b.omissions = append(p.b.omissions, Omission{Flag: key, Place: path, Reason: reason, IsFlagOmitted: true})
	}
}

// flagMembers are the members of a definition (§1.1); the API returns further ones.
var flagMembers = []string{
	"id", "team_id", "key", "name", "filters", "active", "deleted", "version", "ensure_experience_continuity", "x_ensure_experience_continuity",
	"bucketing_identifier", "bucketing_hash", "evaluation_runtime", "evaluation_contexts", "evaluation_tags", "evaluation_contexts_match_mode",
	"has_encrypted_payloads", "has_experiment", "is_remote_configuration", "archived", "rollout_percentage",
}

// record returns a flag as it is written to a file.
func (p *postHog) record(n *node) map[string]any {
	out := map[string]any{}
	for name, v := range n.object() {
		if slices.Contains(flagMembers, name) {
			out[name] = v
		}
	}
	if tags := n.get("tags"); !empty(tags.value) {
		p.b.omissions = append(p.b.omissions, Omission{Flag: n.get("key").text(), Place: "tags", Reason: "is not converted"})
	}
	key := n.get("key").text()
	if p.ids[key] == 0 {
		p.ids[key] = freeID(key, func(id int64) bool { return p.usedIDs[id] })
		p.usedIDs[p.ids[key]] = true
	}
	out["id"], p.keys[p.ids[key]] = p.ids[key], key
	delete(out, "team_id")
	return out
}

// resolve replaces references by name, which documents of bunting flags export contain, by ids.
func (p *postHog) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = p.resolve(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = p.resolve(e)
		}
		switch v["type"] {
		case "cohort":
			name, isText := v["value"].(string)
			if id, ok := p.names[name]; isText && ok && v["key"] == "name" {
				out["key"], out["value"] = "id", json.Number(strconv.FormatInt(id, 10))
			}
		case "flag":
			key, isText := v["key"].(string)
			_, err := strconv.ParseInt(key, 10, 64)
			if id, ok := p.ids[key]; isText && ok && err != nil && v["dependency_chain"] == nil {
				out["key"] = strconv.FormatInt(id, 10)
			}
		}
		return out
	}
	return v
}

// result checks the collected definitions and leaves out flags whose values would differ.
func (p *postHog) result() (*Result, error) {
	slices.SortFunc(p.flags, func(a, b *node) int { return strings.Compare(a.get("key").text(), b.get("key").text()) })
	var records []map[string]any
	for _, n := range p.flags {
		records = append(records, p.record(n))
	}
	raw := map[int64]any{}
	for id, n := range p.cohorts {
		raw[id] = p.resolve(n.value)
	}
	for _, r := range records {
		r["filters"] = p.resolve(r["filters"])
	}
	d, err := p.parse(records, raw)
	if err != nil {
		return nil, err
	}
	p.omitInvalid(&d)
	records = slices.DeleteFunc(records, func(r map[string]any) bool { return p.omitted[r["key"].(string)] })
	maps.DeleteFunc(raw, func(id int64, _ any) bool { return slices.Contains(p.badCohorts, strconv.FormatInt(id, 10)) })
	if d, err = p.parse(records, raw); err != nil {
		return nil, err
	}
	return p.toResult(d, raw), nil
}

// parse parses the merged documents as definitions, which also validates them.
func (p *postHog) parse(records []map[string]any, cohorts map[int64]any) (flags.Definitions, error) {
	doc := map[string]any{"flags": records, "group_type_mapping": p.groupTypes}
	byID := map[string]any{}
	for id, c := range cohorts {
		byID[strconv.FormatInt(id, 10)] = c
	}
	doc["cohorts"] = byID
	if records == nil {
		doc["flags"] = []any{}
	}
	for name, v := range p.settings {
		doc[name] = v
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return flags.Definitions{}, err
	}
	return flags.ParseDefinitions(text)
}

func (p *postHog) toResult(d flags.Definitions, cohorts map[int64]any) *Result {
	r := p.b.result()
	project := &r.File.Projects[0]
	project.Definitions = d
	for _, f := range d.Flags {
		r.Converted = append(r.Converted, f.Key)
	}
	slices.SortStableFunc(r.Omissions, byPlace)
	r.rawCohorts = cohorts
	return r
}
