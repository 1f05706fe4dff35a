package flags

import (
	"strconv"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// parseCohort parses a cohort, which is a bare tree or a record (§1.6). A cohort with a fault
// fails the flags that depend on it.
func parseCohort(n node) Cohort {
	var c Cohort
	if err := read(func() { c.parse(n) }); err != nil {
		err.Code = CohortFiltersParsingError
		c.fault = err
	}
	return c
}

// parse parses a cohort into c and stops at the first fault.
func (c *Cohort) parse(n node) {
	n.mustBeObject().failUnknown(cohortOrTree(n))
	if n.has(nValues) { // a bare tree
		c.Tree = parseTree(n, 1)
		return
	}
	c.Name = n.at(nName).textOrEmpty()
	c.Deleted = n.at(nDeleted).bool()
	c.Static = n.at(nStatic).bool()
	c.Members = n.at(nMembers).texts()
	switch n.at(nCohortType).textOrEmpty() {
	case "static":
		c.Static = true
	case "realtime", "behavioral":
		c.Unsupported = true
	}
	if c.Static {
		return
	}
	filters := n.at(nFilters)
	if !filters.null() {
		filters.mustBeObject()
	}
	if props := filters.at(nProperties); !props.null() {
		c.Tree = parseTree(props, 1)
		return
	}
	c.Tree = parseLegacyGroups(n.at(nGroups))
}

// parseMembers parses the distinct ids of static cohorts in a payload, by cohort. A list that
// cannot be read is a fault; its cohort is then treated like one without a list, with its
// members in the store (decision 5).
func (d *Definitions) parseMembers(n node) {
	if n.null() {
		return
	}
	in := n.path()
	for _, e := range n.entries() {
		n.t.anchor = anchor{cell: e.i, parent: in, name: e.name}
		err := read(func() {
			num, err := strconv.ParseInt(e.name, 10, 64)
			if err != nil {
				e.fail("a cohort's id must be a whole number, not %s", values.Quote(e.name))
			}
			if members := e.texts(); members != nil {
				d.addCohort(num, Cohort{Static: true, Members: members})
			}
		})
		if err != nil {
			d.faults = append(d.faults, err)
		}
	}
}

// parseFailedCohort parses an entry of the cohorts that fail on the server. The cohort must
// fail here in the same way.
func (d *Definitions) parseFailedCohort(n node) {
	id := n.at(nID).int()
	if n.at(nCode).text() == CohortCycle.String() {
		itself := Property{Key: "id", Type: CohortProperty, Operator: In, Value: id, HasValue: true}
		d.addCohort(id, Cohort{Tree: &CohortNode{Leaf: &itself}})
		return
	}
	d.addCohort(id, Cohort{fault: &DefinitionError{
		Path: n.path(), Problem: "the cohort cannot be read from its store", Code: CohortFiltersParsingError,
	}})
}

// parseTree parses an inner node and the nodes below it.
func parseTree(n node, depth int) *CohortNode {
	n.mustBeObject()
	if depth > cohortDepth {
		n.fail("is nested deeper than %d levels", cohortDepth)
	}
	t := &CohortNode{}
	switch kind := n.at(nType).text(); kind {
	case "OR":
		t.Any = true
	case "AND", "property":
	default:
		n.at(nType).fail("must be AND, OR or property, not %s", values.Quote(kind))
	}
	values := n.at(nValues)
	if values.null() {
		values.failExpected("an array")
	}
	for list := values.list(); list.next(); {
		if list.mustBeObject().has(nValues) {
			t.Children = append(t.Children, *parseTree(list.node, depth+1))
		} else {
			t.Children = append(t.Children, parseLeaf(list.node, false))
		}
	}
	return t
}

// parseLeaf parses a requirement. Leaves about events have other members than properties and
// are only recorded as present. In the oldest format, leaves without a type and leaves of
// type event are about persons.
func parseLeaf(n node, legacy bool) CohortNode {
	kind := PropertyType(n.mustBeObject().at(nType).textOrEmpty())
	if legacy && (kind == "" || kind == "event") {
		kind = PersonProperty
	}
	switch kind {
	case PersonProperty, GroupProperty, CohortProperty, FlagProperty, PersonMetadata:
		var p Property
		new(slabs).property(n, &p)
		p.Type = kind
		if operators[p.Operator.orDefault(kind)] == nil {
			n.at(nOperator).fail("unknown operator %s", values.Quote(string(p.Operator)))
		}
		if kind == CohortProperty {
			if _, ok := p.Value.(int64); !ok {
				n.at(nValue).failExpected("the id of a cohort as a whole number")
			}
		}
		if member, problem := p.neverMatches(); problem != "" {
			panic(fault{err: &DefinitionError{
				Path: n.at(member).path(), Code: CohortFiltersParsingError,
				Problem: string(p.Operator.orDefault(kind)) + " never matches here: " + problem,
			}})
		}
		return CohortNode{Leaf: &p}
	case "":
		n.at(nType).failExpected("text")
	}
	return CohortNode{Unsupported: true, Leaf: &Property{Type: kind, Negated: n.at(nNegation).bool()}}
}

// parseLegacyGroups parses the oldest cohort format: a list of alternatives, each with
// properties that must all match (§5.6). It returns nil for an empty list.
func parseLegacyGroups(n node) *CohortNode {
	if n.count() == 0 {
		return nil
	}
	tree := &CohortNode{Any: true}
	for list := n.list(); list.next(); {
		tree.Children = append(tree.Children, parseLegacyGroup(list.node))
	}
	return tree
}

// neverNode is a node that never matches.
var neverNode = CohortNode{Any: true}

// parseLegacyGroup parses one alternative. Its properties have precedence over an event or
// action in it. An object with type and values is a tree. An object with only one of the two,
// and an alternative without properties, never match.
func parseLegacyGroup(n node) CohortNode {
	all, found := CohortNode{}, false
	err := read(func() {
		props := n.at(nProperties)
		switch props.kind() {
		case tape.List:
			for list := props.list(); list.next(); {
				all.Children = append(all.Children, parseLeaf(list.node, true))
				found = true
			}
		case tape.Object:
			if props.has(nType) || props.has(nValues) {
				if found = props.has(nType) && props.has(nValues); found {
					all = *parseTree(props, 2)
				}
				return
			}
			for _, e := range props.entries() {
				all.Children = append(all.Children, CohortNode{Leaf: &Property{
					Key: e.name, Type: PersonProperty, Value: e.value(), HasValue: true,
				}})
				found = true
			}
		}
	})
	switch {
	case err != nil && err.Code == CohortFiltersParsingError: // a requirement that can never match is a fault
		panic(fault{err: err})
	case err != nil:
		return neverNode
	case found:
		return all
	case !n.at(nEventID).null() || !n.at(nActionID).null() || !n.at(nDays).null():
		return CohortNode{Unsupported: true, Leaf: &Property{Type: "behavioral"}}
	}
	return neverNode
}
