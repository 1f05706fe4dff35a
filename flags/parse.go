package flags

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// ParseDefinitions parses the definitions of one project: PostHog's definitions payload
// (§1.8), a definitions file with one project, or a document of flags as code (see
// [IsDocument]). It returns an error only if data cannot be parsed at all. A faulty flag or
// cohort becomes a fault (see [Set.Faults]); the others are used.
func ParseDefinitions(data []byte) (Definitions, error) {
	root, err := open(data)
	if err == nil && isDocument(root) {
		root, err = openNumbered(data)
	}
	if err != nil {
		return Definitions{}, fmt.Errorf("flags: %w", err)
	}
	if root.has(nProjects) {
		file, err := parseFile(root)
		if err != nil {
			return Definitions{}, fmt.Errorf("flags: %w", err)
		}
		if len(file.Projects) != 1 {
			problem := fmt.Sprintf("the file has %d projects, use ParseFile to choose one", len(file.Projects))
			return Definitions{}, fmt.Errorf("flags: %w", &DefinitionError{Path: "projects", Problem: problem})
		}
		return file.Projects[0].Definitions, nil
	}
	var d Definitions
	fault := read(func() {
		if !root.mustBeObject().has(nFlags) {
			root.at(nFlags).fail("is missing: definitions are an object with an array of flags")
		}
		d = parseDefinitions(root)
	})
	if fault != nil {
		return Definitions{}, fmt.Errorf("flags: %w", fault)
	}
	return d, nil
}

// parseDefinitions parses the members of a payload or of a file's project.
func parseDefinitions(n node) Definitions {
	d := Definitions{
		Timezone:                n.mustBeObject().at(nTimezone).textOrEmpty(),
		PropertyMatchingVersion: int(n.at(nMatchingVersion).intOrZero()),
		MinimalFlagCalledEvents: n.at(nMinimalEvents).bool(),
		Revision:                n.at(nRevision).intOrZero(),
		BucketingHash:           parseHash(n.at(nBucketingHash)),
	}
	if v := d.PropertyMatchingVersion; v < 0 || v > 2 {
		d.PropertyMatchingVersion = 1
		d.faults = append(d.faults, &DefinitionError{
			Path: n.at(nMatchingVersion).path(), Problem: "must be 1 or 2, not " + strconv.Itoa(v) + ": 1 is used",
		})
	}
	if err := read(func() { n.failUnknownHere(projectShape) }); err != nil {
		d.faults = append(d.faults, err)
	}
	d.GroupTypes = parseGroupTypes(n.at(nGroupTypes))
	flags := n.at(nFlags)
	list := flags.list()
	if count := flags.count(); count > 0 {
		d.Flags = make([]Flag, count)
	}
	var room slabs
	in := flags.path()
	for list.next() {
		list.t.anchor = anchor{cell: list.i, parent: in, index: list.index}
		room.parseFlag(list.node, &d.Flags[list.index])
		yield(list.index)
	}
	for i := range d.Flags {
		if f := d.Flags[i].fault; f != nil {
			d.faults = append(d.faults, f)
		}
	}
	d.parseCohorts(n.at(nCohorts))
	if ids := n.at(nStaticCohorts); !ids.null() {
		d.StaticCohorts = ids.ints()
	}
	d.parseMembers(n.at(nStaticMembers))
	if withheld := n.at(nWithheld); !withheld.null() {
		d.Withheld = []FlagName{}
		for list := withheld.list(); list.next(); {
			d.Withheld = append(d.Withheld, FlagName{list.at(nID).int(), list.at(nKey).text()})
		}
	}
	failed := n.at(nFailedCohorts)
	place := failed.path()
	for list := failed.list(); list.next(); {
		list.t.anchor = anchor{cell: list.i, parent: place, index: list.index}
		d.parseFailedCohort(list.node)
	}
	for _, id := range n.at(nEmptyCohorts).ints() {
		d.addCohort(id, Cohort{})
	}
	for _, id := range n.at(nBehavioralCohorts).ints() {
		d.addCohort(id, Cohort{Unsupported: true})
	}
	return d
}

// parseGroupTypes parses an object of group type names by index.
func parseGroupTypes(n node) map[int]string {
	if n.null() {
		return nil
	}
	types := map[int]string{}
	for _, e := range n.entries() {
		i, err := strconv.Atoi(e.name)
		if err != nil || i < 0 || i > 255 {
			e.fail("a group type index must be a number of at least 0, not %s", values.Quote(e.name))
		}
		types[i] = e.text()
	}
	return types
}

// parseCohorts parses cohorts in an object by id, or in a list of records with ids. Objects
// are read in the numeric order of ids, for a stable order of faults.
func (d *Definitions) parseCohorts(n node) {
	add := func(id int64, record node) {
		c := parseCohort(record)
		if c.fault != nil {
			d.faults = append(d.faults, c.fault)
		}
		d.addCohort(id, c)
	}
	in := n.path()
	switch n.kind() {
	case tape.Null:
	case tape.List:
		for list := n.list(); list.next(); {
			n.t.anchor = anchor{cell: list.i, parent: in, index: list.index}
			add(list.at(nID).int(), list.node)
		}
	default:
		entries := n.entries()
		slices.SortStableFunc(entries, func(a, b namedNode) int { return cmp.Compare(len(a.name), len(b.name)) })
		for _, e := range entries {
			id, err := strconv.ParseInt(e.name, 10, 64)
			if err != nil {
				e.fail("a cohort's id must be a whole number, not %s", values.Quote(e.name))
			}
			n.t.anchor = anchor{cell: e.i, parent: in, name: e.name}
			add(id, e.node)
		}
	}
}

// A document of flags as code has flags and cohorts without ids, which refer to each other by
// key and name. It is read as definitions by numbering the flags and cohorts in their order.
// These numbers are only valid for one reading. A document has a list of cohorts, which may
// be empty.

// IsDocument reports whether data is a document of flags as code, such as the output of
// bunting flags export, rather than a definitions file or a payload. It returns false for
// text that is not JSON.
func IsDocument(data []byte) bool {
	root, err := open(data)
	return err == nil && isDocument(root)
}

// isDocument checks the structure: lists of flags and cohorts, no projects, no ids, at least
// one item.
func isDocument(root node) bool {
	flags, cohorts := root.at(nFlags), root.at(nCohorts)
	if flags.kind() != tape.List || cohorts.kind() != tape.List || root.has(nProjects) {
		return false
	}
	for _, array := range [...]node{flags, cohorts} {
		for list := array.list(); list.next(); {
			if list.kind() != tape.Object || !list.at(nID).null() {
				return false
			}
		}
	}
	return flags.count()+cohorts.count() > 0
}

// openNumbered opens a document of flags as code. It adds ids and replaces the names in
// references by them.
func openNumbered(data []byte) (node, error) {
	v, err := DecodeJSON(data)
	if err != nil {
		return node{}, err
	}
	addIDs(v.(map[string]any))
	text, err := wire.Encode(v)
	if err != nil {
		return node{}, err
	}
	return open(text)
}

// addIDs adds ids to a document and replaces the names in references by them.
func addIDs(root map[string]any) {
	flags, _ := root["flags"].([]any)
	cohorts, _ := root["cohorts"].([]any)
	number := func(list []any, name string) map[string]int {
		ids := map[string]int{}
		for i, item := range list {
			o := item.(map[string]any)
			o["id"] = json.Number(strconv.Itoa(i + 1))
			if text, ok := o[name].(string); ok && ids[text] == 0 {
				ids[text] = i + 1
			}
		}
		return ids
	}
	keys, names := number(flags, "key"), number(cohorts, "name")
	for _, list := range [][]any{flags, cohorts} {
		for _, item := range list {
			resolveNames(item.(map[string]any)["filters"], keys, names, cohortDepth)
		}
	}
}

// resolveNames replaces names by ids in filters. A name that does not exist remains, and is
// reported as a fault when the filters are parsed.
func resolveNames(v any, keys, names map[string]int, depth int) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			resolveNames(v[i], keys, names, depth)
		}
	case map[string]any:
		if depth == 0 { // deeper filters cannot be read
			return
		}
		switch v["type"] {
		case "cohort":
			name, isText := v["value"].(string)
			if id := names[name]; isText && v["key"] == "name" && id != 0 {
				v["key"], v["value"] = "id", json.Number(strconv.Itoa(id))
			}
		case "flag":
			if key, ok := v["key"].(string); ok && v["dependency_chain"] == nil && keys[key] != 0 {
				v["key"] = strconv.Itoa(keys[key])
			}
		}
		for name, inner := range v {
			if name != "value" { // the value of a property is data, not a filter
				resolveNames(inner, keys, names, depth-1)
			}
		}
	}
}
