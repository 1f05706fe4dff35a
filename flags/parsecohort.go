package flags

import "strconv"

// parseCohort reads a bare tree or a record (§1.6). A cohort that cannot be
// read fails the flags that need it.
func parseCohort(n *node) Cohort {
	var c Cohort
	if err := read(func() { c.parse(n) }); err != nil {
		err.Code = CohortFiltersParsingError
		c.fault = err
	}
	return c
}

func (c *Cohort) parse(n *node) {
	n.object()
	n.known(cohortOrTree(n.value))
	if n.has("values") { // a bare tree
		c.Tree = parseTree(n, 1)
		return
	}
	c.Name = n.at("name").textOr()
	c.Deleted = n.at("deleted").bool()
	c.Static = n.at("is_static").bool()
	c.Members = n.at("members").texts()
	switch n.at("cohort_type").textOr() {
	case "static":
		c.Static = true
	case "realtime", "behavioral":
		c.Unsupported = true
	}
	if c.Static {
		return
	}
	filters := n.at("filters")
	if filters.value != nil {
		filters.object()
	}
	if props := filters.at("properties"); props.value != nil {
		c.Tree = parseTree(props, 1)
		return
	}
	c.Tree = parseLegacyGroups(n.at("groups"))
}

// parseMembers reads the distinct ids of the static cohorts that a payload carries,
// by cohort. A list that cannot be read is a fault, and its cohort is left to the
// store, as one without a list is (decision 5).
func (d *Definitions) parseMembers(n *node) {
	if n.value == nil {
		return
	}
	for _, id := range sortedKeys(n.object()) {
		err := read(func() {
			num, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				n.at(id).fail("a cohort's id is a whole number, not %s", quote(id))
			}
			if members := n.at(id).texts(); members != nil {
				d.addCohort(num, Cohort{Static: true, Members: members})
			}
		})
		if err != nil {
			d.faults = append(d.faults, err)
		}
	}
}

// parseFailedCohort reads of a payload that a cohort fails where it is kept: it has
// to fail in the same way here.
func (d *Definitions) parseFailedCohort(n *node) {
	id := n.at("id").int()
	if n.at("code").text() == CohortCycle.String() {
		itself := Property{Key: "id", Type: CohortProperty, Operator: In, Value: id, HasValue: true}
		d.addCohort(id, Cohort{Tree: &CohortNode{Leaf: &itself}})
		return
	}
	d.addCohort(id, Cohort{fault: &DefinitionError{
		Path: n.path(), Problem: "the cohort cannot be read where it is kept", Code: CohortFiltersParsingError,
	}})
}

func parseTree(n *node, depth int) *CohortNode {
	n.object()
	if depth > cohortDepth {
		n.fail("is nested deeper than %d levels", cohortDepth)
	}
	t := &CohortNode{}
	switch kind := n.at("type").text(); kind {
	case "OR":
		t.Any = true
	case "AND", "property":
	default:
		n.at("type").fail("must be AND, OR or property, not %s", quote(kind))
	}
	values := n.at("values")
	if values.value == nil {
		values.want("an array")
	}
	for i, v := range values.list() {
		child := values.item(i, v)
		child.object()
		if child.has("values") {
			t.Children = append(t.Children, *parseTree(child, depth+1))
		} else {
			t.Children = append(t.Children, parseLeaf(child, ""))
		}
	}
	return t
}

// parseLeaf reads a requirement. Leaves about events have other fields than
// properties and are only known to be there.
func parseLeaf(n *node, missingType PropertyType) CohortNode {
	n.object()
	kind := PropertyType(n.at("type").textOr())
	if kind == "" {
		kind = missingType
	}
	switch kind {
	case PersonProperty, GroupProperty, CohortProperty, FlagProperty, PersonMetadata:
		p := parseProperty(n)
		p.Type = kind
		if operators[p.Operator.orDefault(kind)] == nil {
			n.at("operator").fail("unknown operator %s", quote(string(p.Operator)))
		}
		if kind == CohortProperty {
			if _, ok := p.Value.(int64); !ok {
				n.at("value").want("the id of a cohort as a whole number")
			}
		}
		return CohortNode{Leaf: &p}
	case "":
		n.at("type").want("text")
	}
	return CohortNode{Unsupported: true, Leaf: &Property{Type: kind, Negated: n.at("negation").bool()}}
}

// parseLegacyGroups reads the oldest cohort format: a list whose entries are
// alternatives, each with properties that must all match (§5.6). Nil: nothing
// is described.
func parseLegacyGroups(n *node) *CohortNode {
	groups, _ := n.value.([]any)
	if len(groups) == 0 {
		return nil
	}
	tree := &CohortNode{Any: true}
	for i, v := range groups {
		tree.Children = append(tree.Children, parseLegacyGroup(n.item(i, v)))
	}
	return tree
}

// never is a node that matches nobody.
var never = CohortNode{Any: true}

// parseLegacyGroup reads one entry. Properties go before the event or action
// that it may name as well. An object with type and values is a tree; with only
// one of the two, and with no properties at all, it matches nobody.
func parseLegacyGroup(n *node) CohortNode {
	all, found := CohortNode{}, false
	err := read(func() {
		props := n.at("properties")
		switch v := props.value.(type) {
		case []any:
			for i := range v {
				leaf := props.item(i, v[i])
				if leaf.at("type").value == "event" {
					leaf.value = withType(leaf.object(), PersonProperty)
				}
				all.Children = append(all.Children, parseLeaf(leaf, PersonProperty))
			}
			found = len(v) > 0
		case map[string]any:
			if props.has("type") || props.has("values") {
				if found = props.has("type") && props.has("values"); found {
					all = *parseTree(props, 2)
				}
				return
			}
			for _, key := range sortedKeys(v) {
				all.Children = append(all.Children, CohortNode{Leaf: &Property{
					Key: key, Type: PersonProperty, Value: normalizeTree(v[key]), HasValue: true,
				}})
			}
			found = len(v) > 0
		}
	})
	switch {
	case err != nil:
		return never
	case found:
		return all
	case n.at("event_id").value != nil || n.at("action_id").value != nil || n.at("days").value != nil:
		return CohortNode{Unsupported: true, Leaf: &Property{Type: "behavioral"}}
	}
	return never
}

func withType(obj map[string]any, kind PropertyType) map[string]any {
	out := make(map[string]any, len(obj))
	for k, v := range obj {
		out[k] = v
	}
	out["type"] = string(kind)
	return out
}
