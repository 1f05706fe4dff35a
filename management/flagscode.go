package management

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Flags as code (decision 27): a document of a project's flags and cohorts, by
// key and name, without ids, versions or times. What it exports can be applied to
// an empty project, whose export is the same document then.

// DocumentFields are the members of a document.
var DocumentFields = Fields{
	{Name: "cohorts", Type: ObjectList, Help: "known by their names"},
	{Name: "flags", Type: ObjectList, Required: true, Help: "known by their keys"},
}

// notInDocuments are members of records that belong to one project, or follow
// from the rest.
var notInDocuments = []string{"id", "team_id", "version", "deleted", "has_experiment", "created_at", "created_by", "cohort_type", "groups"}

// DocumentChange is a flag or a cohort that a document makes, changes or deletes.
type DocumentChange struct {
	Kind    string         `json:"kind"`   // flag, cohort
	Name    string         `json:"name"`   // the flag's key or the cohort's name
	Action  string         `json:"action"` // create, update, delete
	Changes []Change       `json:"changes"`
	People  *PeopleChanged `json:"people,omitempty"` // of flags, when it was counted
}

// PeopleChanged is how many people would see another value. Of is how many are
// known; Counted of them were looked at, all or, as Sample says, some.
type PeopleChanged struct {
	Changed int  `json:"changed"`
	Counted int  `json:"counted"`
	Of      int  `json:"of"`
	Sample  bool `json:"sample"`
}

// DocumentResult is what applying a document does.
type DocumentResult struct {
	Changes   []DocumentChange `json:"changes"`
	Unchanged int              `json:"unchanged"`
}

// Export returns the project's document: JSON with sorted members, indented.
func (s FeatureFlags) Export(ctx context.Context, st *Standing) (json.RawMessage, error) {
	doc, err := read(ctx, s.core, func(tx Tx) (*document, error) { return s.document(tx, st) })
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, encode(map[string]any{"cohorts": doc.listCohorts(), "flags": doc.listFlags()}), "", "  ")
	return out.Bytes(), err
}

// document is what a project has, by name.
type document struct {
	cohorts, flags map[string]entry
	cohortIDs      map[string]int64
	storedFlags    map[string]*storedFlag
	storedCohorts  map[string]*storedCohort
	cohortNames    map[int64]string
	flagKeys       map[int64]string
	flagIDs        map[string]int64
}

type entry = map[string]any

func (d *document) listCohorts() []entry { return inOrder(d.cohorts) }
func (d *document) listFlags() []entry   { return inOrder(d.flags) }

func inOrder(all map[string]entry) []entry {
	out := []entry{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// document reads what a project has. Cohorts without a name, or with one that is
// another's too, are there only while no flag needs them.
func (s FeatureFlags) document(tx Tx, st *Standing) (*document, error) {
	d := &document{
		cohorts: map[string]entry{}, flags: map[string]entry{}, cohortIDs: map[string]int64{}, flagIDs: map[string]int64{},
		storedFlags: map[string]*storedFlag{}, storedCohorts: map[string]*storedCohort{}, cohortNames: map[int64]string{}, flagKeys: map[int64]string{},
	}
	cohorts, _, err := tx.Definitions(DefinitionQuery{Kind: CohortDefinition, Project: st.Project.ID})
	if err != nil {
		return nil, err
	}
	list, _, err := tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: st.Project.ID})
	if err != nil {
		return nil, err
	}
	for i := range cohorts {
		c, err := decodeCohort(&cohorts[i])
		if err != nil {
			return nil, err
		}
		name := c.title()
		if _, twice := d.cohortIDs[name]; name == "" || twice {
			return nil, Fault("", "The cohort %d has no name of its own (%q): a document knows cohorts by their names.", c.ID, name)
		}
		d.cohortIDs[name], d.cohortNames[c.ID], d.storedCohorts[name] = c.ID, name, c
	}
	for i := range list {
		f, err := decodeFlag(st.Project.ID, &list[i])
		if err != nil {
			return nil, err
		}
		d.flagKeys[f.ID], d.flagIDs[f.Key] = f.Key, f.ID
		if !f.Hidden {
			d.storedFlags[f.Key] = f
		}
	}
	for name, c := range d.storedCohorts {
		if d.cohorts[name], err = d.cohortObject(c); err != nil {
			return nil, err
		}
	}
	for key, f := range d.storedFlags {
		if d.flags[key], err = d.flagObject(f); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *document) flagObject(f *storedFlag) (entry, error) {
	out, _ := decodeAny(f.record()).(entry)
	for _, name := range notInDocuments {
		delete(out, name)
	}
	out["tags"] = texts(f.Tags)
	return out, eachReference(out["filters"], d.byName)
}

func (d *document) cohortObject(c *storedCohort) (entry, error) {
	out, _ := decodeAny(encode(c.cohortRecord)).(entry)
	for _, name := range notInDocuments {
		delete(out, name)
	}
	return out, eachReference(out["filters"], d.byName)
}

// byName turns the id in a property into a name.
func (d *document) byName(property entry) error {
	id, ok := referenced(property)
	if !ok {
		return nil
	}
	names := d.cohortNames
	if property["type"] == "flag" {
		names = d.flagKeys
	}
	name, ok := names[id]
	if !ok {
		return Fault("", "A condition refers to the %s %d, which is not there.", property["type"], id)
	}
	if property["type"] == "flag" {
		property["key"] = name
	} else {
		property["key"], property["value"] = "name", name
		delete(property, "cohort_name")
	}
	return nil
}

// referenced is the id of the cohort or flag that a property is about.
func referenced(property entry) (int64, bool) {
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

// eachReference visits all properties in filters of a flag or a cohort.
func eachReference(v any, visit func(entry) error) error {
	switch x := v.(type) {
	case entry:
		if _, is := x["type"].(string); is && x["key"] != nil {
			if err := visit(x); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if err := eachReference(x[name], visit); err != nil {
				return err
			}
		}
	case []any:
		for i := range x {
			if err := eachReference(x[i], visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// byID turns the names in properties of a document into ids; wanted is what they
// are about.
func (d *document) byID(kind, name string) func(entry) error {
	return func(property entry) error {
		switch property["type"] {
		case "cohort":
			if property["key"] != "name" {
				return nil
			}
			id, ok := d.cohortIDs[fmt.Sprint(property["value"])]
			if !ok {
				return Fault(kind, "%s: there is no cohort %q.", name, property["value"])
			}
			property["key"], property["value"] = "id", id
		case "flag":
			key := fmt.Sprint(property["key"])
			id, ok := d.flagIDs[key]
			if !ok {
				return Fault(kind, "%s: there is no flag %q.", name, key)
			}
			property["key"] = strconv.FormatInt(id, 10)
		}
		return nil
	}
}
