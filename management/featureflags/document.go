package featureflags

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// This file exports flags as code (decision 27): a document with the flags and cohorts of a
// project, by key and name, without ids, versions and times. An exported document can be applied to
// an empty project, and the export of that project is then the same document.

// documentFields are the members of a document.
var documentFields = management.Fields{
	{Name: "cohorts", Type: management.ObjectList, MaxItems: definitions.MaxCohorts, Help: "cohorts, identified by name"},
	{Name: "flags", Type: management.ObjectList, Required: true, MaxItems: definitions.MaxFlags, Help: "flags, identified by key"},
	{Name: "group_type_mapping", Type: management.Object, Null: true, Help: "names of the group types by index; they must be the same in the project"},
	{Name: "timezone", Type: management.Any, Help: "time zone of the exported project; it is not applied"},
	{Name: "bucketing_hash", Type: management.Any, Help: "setting of the exported project; it is not applied"},
	{Name: "property_matching_version", Type: management.Any, Help: "setting of the exported project; it is not applied"},
}

// documentSettings are the settings of a project that affect the evaluation of its flags.
var documentSettings = []string{"timezone", "bucketing_hash", "property_matching_version"}

// notInDocuments are the members of records that are specific to one project or derived from other
// members.
var notInDocuments = []string{"id", "team_id", "version", "deleted", "has_experiment", "created_at", "created_by"}

// documentChange is a flag or a cohort that a document creates, changes or deletes.
type documentChange struct {
	Kind    string              `json:"kind"`   // flag or cohort
	Name    string              `json:"name"`   // the flag's key or the cohort's name
	Action  string              `json:"action"` // create, update or delete
	Changes []management.Change `json:"changes"`
	People  *peopleChange       `json:"people,omitempty"` // of flags, if a plan counted it
}

// peopleChange is the number of persons for whom a flag's value changes, among Counted persons that
// were evaluated. Total is the number of all persons; if Sample is set, only a random sample was
// evaluated.
type peopleChange struct {
	Changed int  `json:"changed"`
	Counted int  `json:"counted"`
	Total   int  `json:"of"`
	Sample  bool `json:"sample"`
}

// DocumentResult is the result of Apply and of Plan.
type DocumentResult struct {
	Changes []documentChange `json:"changes"`
	// Unchanged is the number of flags and cohorts without changes.
	Unchanged int `json:"unchanged"`
	// Warnings lists the parts of the document that had no effect.
	Warnings []string `json:"warnings,omitempty"`
}

// maxDocumentMembers limits the members of all static cohorts in a document, by distinct ids and by
// their bytes. The limit is that of the definitions for SDKs.
var maxDocumentMembers = flags.MembersLimit{IDs: 100_000, Bytes: 4 << 20}

// Export returns the document of a project as indented JSON with sorted members, and warnings about
// what it omits. A static cohort lists all distinct ids of its members. If these exceed
// maxDocumentMembers, the largest cohorts are exported without members.
func (s Flags) Export(ctx context.Context, scope *management.Scope) (text json.RawMessage, warnings []string, err error) {
	doc, err := management.Read(ctx, &s.Env, func(tx storeTx) (*document, error) { return s.document(tx, scope) })
	if err != nil {
		return nil, nil, err
	}
	doc.removeHidden(scope)
	var out bytes.Buffer
	err = json.Indent(&out, wire.MustEncode(doc.content(scope)), "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), doc.warnings, err
}

// removeHidden removes the flags and cohorts that the caller may not see.
func (d *document) removeHidden(scope *management.Scope) {
	maps.DeleteFunc(d.storedFlags, func(_ string, f *storedflags.Flag) bool { return !scope.CanSee(f.AccessObject()) })
	maps.DeleteFunc(d.cohorts, func(name string, _ entry) bool { return !scope.CanSee(d.storedCohorts[name].AccessObject()) })
}

// content returns the document, with the settings that affect the evaluation.
func (d *document) content(scope *management.Scope) map[string]any {
	flags := []entry{}
	for _, key := range slices.Sorted(maps.Keys(d.storedFlags)) {
		flags = append(flags, d.flag(key))
	}
	out := map[string]any{"cohorts": sortedEntries(d.cohorts), "flags": flags}
	if len(d.groupTypes) > 0 {
		out["group_type_mapping"] = d.groupTypes
	}
	for _, name := range documentSettings {
		if value := scope.Project.Settings[name]; !management.EmptyJSON(value) {
			out[name] = value
		}
	}
	return out
}

// document has the flags and cohorts of a project, by key and by unique name.
type document struct {
	// cohorts have the form of a document. The other maps have the stored objects and the ids.
	cohorts       map[string]entry
	cohortIDs     map[string]int64
	storedFlags   map[string]*storedflags.Flag
	storedCohorts map[string]*storedcohorts.Cohort
	cohortNames   map[int64]string
	flagKeys      map[int64]string
	flagIDs       map[string]int64
	members       map[int64][]string // of static cohorts; no entry if there are too many
	groupTypes    map[int]string
	warnings      []string
}

// entry is a flag or a cohort in a document, as decoded JSON.
type entry = map[string]any

func sortedEntries(all map[string]entry) []entry {
	out := []entry{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// document reads the flags and cohorts of a project, without hidden flags.
func (s Flags) document(tx storeTx, scope *management.Scope) (*document, error) {
	d := &document{
		cohorts: map[string]entry{}, cohortIDs: map[string]int64{}, flagIDs: map[string]int64{},
		storedFlags: map[string]*storedflags.Flag{}, storedCohorts: map[string]*storedcohorts.Cohort{}, cohortNames: map[int64]string{}, flagKeys: map[int64]string{},
	}
	if err := d.readCohorts(tx, scope); err != nil {
		return nil, err
	}
	list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	for i := range list {
		f, err := storedflags.Decode(scope.Project.ID, &list[i])
		if err != nil {
			return nil, err
		}
		d.flagKeys[f.ID], d.flagIDs[f.Key] = f.Key, f.ID
		if !f.Hidden {
			d.storedFlags[f.Key] = f
		}
	}
	if d.groupTypes, err = tx.GroupTypes(scope.Project.ID); err != nil {
		return nil, err
	}
	for name, c := range d.storedCohorts {
		d.cohorts[name] = d.cohortObject(name, c)
	}
	return d, nil
}

// readCohorts reads the cohorts and their members. Names of cohorts need not be unique in a
// project, so it appends the id to a name that an older cohort has.
func (d *document) readCohorts(tx storeTx, scope *management.Scope) error {
	list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: scope.Project.ID})
	if err != nil {
		return err
	}
	var named, unnamed []*storedcohorts.Cohort
	var static []int64
	for i := range slices.Backward(list) { // oldest first: the oldest cohort keeps its name
		c, err := storedcohorts.Decode(&list[i])
		if err != nil {
			return err
		}
		if c.Title() == "" {
			unnamed = append(unnamed, c)
		} else {
			named = append(named, c)
		}
		if c.Static {
			static = append(static, c.ID)
		}
	}
	// Cohorts with a name of their own come first, so that a generated name never takes the name of
	// another cohort.
	for _, c := range slices.Concat(named, unnamed) {
		name := cmp.Or(c.Title(), fmt.Sprintf("Cohort %d", c.ID))
		for d.cohortIDs[name] != 0 {
			name += fmt.Sprintf(" (%d)", c.ID)
		}
		d.cohortIDs[name], d.cohortNames[c.ID], d.storedCohorts[name] = c.ID, name, c
	}
	d.members, err = tx.MembersOf(scope.Project.ID, static, maxDocumentMembers)
	for _, id := range static {
		if d.members[id] == nil {
			d.warnings = append(d.warnings, fmt.Sprintf("cohort %q: it has too many members for a document; they are left out", d.cohortNames[id]))
		}
	}
	return err
}

// flag returns a flag in the form of a document, or nil if the project does not have it. A flag of a
// definitions file that the API would refuse is returned in the form of the file.
func (d *document) flag(key string) entry {
	f := d.storedFlags[key]
	if f == nil {
		return nil
	}
	filters := definitions.Object(wire.Value(f.Filters))
	// Ids are valid only in one project: documents refer to cohorts and flags by name.
	eachReference(filters, d.replaceID)
	exported := *f
	exported.Filters = wire.MustEncode(filters)
	if out, err := canonicalFlag(documentEntry(&exported)); err == nil {
		return out
	}
	return documentEntry(&exported)
}

// documentEntry returns the record of a flag without the members in notInDocuments.
func documentEntry(f *storedflags.Flag) entry {
	out, _ := wire.Value(f.Record()).(entry)
	for _, name := range notInDocuments {
		delete(out, name)
	}
	out["tags"] = anyTexts(f.Tags)
	if f.Archived {
		out["archived"] = true
	}
	return out
}

// anyTexts converts strings to the type of decoded JSON.
func anyTexts(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// canonicalFlag returns a flag of a document with all its members in the stored form, so that two
// flags with the same meaning are equal. It returns an error if the flag is not valid; it does not
// check whether the objects exist to which the flag refers.
func canonicalFlag(o entry) (entry, error) {
	filters := definitions.Object(o["filters"])
	if filters == nil {
		return nil, management.CodedFault(management.CodeRequired, "filters", "This field is required.")
	}
	var tags []string
	if raw, ok := o["tags"]; ok {
		if err := json.Unmarshal(wire.MustEncode(raw), &tags); err != nil {
			return nil, management.Fault("tags", "Expected a list of strings.")
		}
	}
	tags = lists.NormalizeTags(tags)
	slices.Sort(tags)
	storedcohorts.CanonicalConditions(filters)
	key, _ := o["key"].(string)
	f, err := storedflags.Decode(0, &management.Definition{Key: key, Record: wire.MustEncode(o)})
	if err != nil {
		return nil, err
	}
	delete(f.Extra, "tags")
	f.Tags, f.Archived = tags, o["archived"] == true
	if err := f.CheckFilters(); err != nil {
		return nil, err
	}
	return documentEntry(f), nil
}

// cohortObject returns a cohort in the form of a document.
func (d *document) cohortObject(name string, c *storedcohorts.Cohort) entry {
	out, _ := wire.Value(storage.Encode(c.Record)).(entry)
	out["name"] = name
	storedcohorts.Canonical(out)
	for _, name := range notInDocuments {
		delete(out, name)
	}
	if ids, ok := d.members[c.ID]; ok && c.Static {
		out["members"] = anyTexts(ids)
	}
	eachReference(out["filters"], d.replaceID)
	return out
}

// replaceID replaces the id in a property by a name. If the object was deleted, the name is one
// that no object has.
func (d *document) replaceID(property entry) {
	id, ok := referencedID(property)
	if !ok {
		return
	}
	names := d.cohortNames
	if property["type"] == "flag" {
		names = d.flagKeys
	}
	name, ok := names[id]
	if !ok {
		name = fmt.Sprintf("%d (deleted)", id)
	}
	if property["type"] == "flag" {
		property["key"] = name
	} else {
		property["key"], property["value"] = "name", name
		delete(property, "cohort_name")
	}
}

// referencedID returns the id of the cohort or flag to which a property refers.
func referencedID(property entry) (int64, bool) {
	value := property["value"]
	switch property["type"] {
	case "flag":
		value = property["key"]
	case "cohort", "precalculated-cohort", "static-cohort", "dynamic-cohort":
	default:
		return 0, false
	}
	id, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	return id, err == nil
}

// eachReference calls visit for all properties in the filters of a flag or cohort.
func eachReference(v any, visit func(entry)) {
	switch x := v.(type) {
	case entry:
		// An object with type and key is a property.
		if _, ok := x["type"].(string); ok && x["key"] != nil {
			visit(x)
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if name != "value" { // a value is data and has no properties
				eachReference(x[name], visit)
			}
		}
	case []any:
		for i := range x {
			eachReference(x[i], visit)
		}
	}
}

// resolveNames returns a copy of filters in which the names are replaced by ids.
func (d *document) resolveNames(filters any) (any, error) {
	filters = wire.Value(wire.MustEncode(filters))
	var missing error
	eachReference(filters, func(property entry) {
		to := property["key"]
		var ids map[string]int64
		switch {
		case property["type"] == "cohort" && property["key"] == "name":
			to, ids = property["value"], d.cohortIDs
		case property["type"] == "flag":
			ids = d.flagIDs
		default:
			return
		}
		id, found := ids[fmt.Sprint(to)]
		// Report only the first missing object.
		if !found && missing == nil {
			missing = management.Fault("filters", "There is no %s %q.", property["type"], fmt.Sprint(to))
		}
		if property["type"] == "flag" {
			property["key"] = strconv.FormatInt(id, 10)
		} else {
			property["key"], property["value"] = "id", id
		}
	})
	return filters, missing
}

// defaultSettings are the values of settings that a project does not set.
var defaultSettings = map[string]string{"timezone": `"UTC"`, "bucketing_hash": `"sha1"`, "property_matching_version": "1"}
