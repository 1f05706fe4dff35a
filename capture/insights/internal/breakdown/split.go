package breakdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// maxSplitCohorts is the maximum number of cohorts of a breakdown.
const maxSplitCohorts = 64

// Split is the breakdown of a funnel or of retention: by properties of one type, or by cohorts. If
// kind is empty, there is no breakdown.
type Split struct {
	// Kind is the type of the properties, or "cohort".
	Kind string
	// parts are the properties.
	parts []func(*scan.Binder) scan.Getter
	// normalize removes trailing characters of URLs.
	normalize bool
	// limit is the number of values of the result; the rest is summed.
	limit   int
	Cohorts []splitCohort
}

// splitCohort is a cohort of a breakdown; id 0 stands for all persons.
type splitCohort struct {
	ID   int64
	Name string
}

// IsByCohort reports whether the breakdown is by cohorts.
func (s *Split) IsByCohort() bool { return s.Kind == "cohort" }

// ReadSplit parses a breakdownFilter. limit is the maximum number of properties; kinds are the
// permitted types.
func ReadSplit(n document.Node, p *port.Project, limit int, kinds ...string) Split {
	s := Split{limit: int(n.Get("breakdown_limit").IntInRange(1, 1000, 25)), normalize: n.Get("breakdown_normalize_url").Boolean()}
	n.RejectMembers("breakdown_histogram_bin_count")
	list := n.Get("breakdowns").List(MaxParts)
	if len(list) > 0 {
		s.readList(list, limit, kinds, p)
		return s
	}
	breakdown := n.Get("breakdown")
	if breakdown.IsAbsent() {
		return s
	}
	s.Kind = n.Get("breakdown_type").Choice("event", kinds...)
	if s.IsByCohort() {
		s.readCohorts(breakdown, p)
		return s
	}
	// The older form has one property or a list of properties, all of breakdown_type.
	list = []document.Node{breakdown}
	if _, ok := breakdown.Value.([]any); ok {
		list = breakdown.List(limit)
	}
	for _, property := range list {
		s.parts = append(s.parts, readProperty(n, s.Kind, property, n.Get("breakdown_group_type_index"), p))
	}
	if len(s.parts) == 0 {
		s.Kind = ""
	}
	return s
}

// readList parses the newer form, breakdowns, in which all properties must have the same type.
func (s *Split) readList(list []document.Node, limit int, kinds []string, p *port.Project) {
	if len(list) > limit {
		list[limit].Fail(document.NotSupported, "At most %d breakdowns are supported here.", limit)
	}
	for i, m := range list {
		kind := m.Get("type").Choice("event", kinds...)
		if i > 0 && kind != s.Kind || kind == "cohort" {
			m.Get("type").Fail(document.NotSupported, "Breakdowns must all have the same type here, and not be cohorts.")
		}
		s.Kind = kind
		s.normalize = s.normalize || m.Get("normalize_url").Boolean()
		m.RejectMembers("histogram_bin_count")
		s.parts = append(s.parts, readProperty(m, kind, m.Get("property"), m.Get("group_type_index"), p))
	}
}

// readCohorts parses the cohorts of a breakdown: an id or a list of ids, in which "all" and 0 stand
// for all persons.
func (s *Split) readCohorts(value document.Node, p *port.Project) {
	list := []document.Node{value}
	if _, ok := value.Value.([]any); ok {
		list = value.List(maxSplitCohorts)
	}
	for _, n := range list {
		c := splitCohort{Name: "all users"}
		if text := strings.Trim(string(n.Raw()), `"`); text != "all" && text != "0" {
			if c.ID = filter.ReadCohort(n, p); !n.HasFailed() {
				c.Name = p.Definitions.Cohorts[c.ID].Name
			}
		}
		s.Cohorts = append(s.Cohorts, c)
	}
}

// Cohort returns the index of the cohort with an id, in the form in which results contain it; -1 if
// there is no such cohort.
func (s *Split) Cohort(id []string) int {
	return slices.IndexFunc(s.Cohorts, func(c splitCohort) bool {
		text := strconv.FormatInt(c.ID, 10)
		return len(id) == 1 && (id[0] == text || c.ID == 0 && id[0] == "all")
	})
}

// Numberer assigns numbers to the breakdown values of events. 0 is the value of which all parts are
// empty. For a split by cohorts, a value is a set of cohorts.
type Numberer struct {
	*scan.Strings
	Number func(*scan.Row) uint32
}

// separator separates the parts of a value. In JSON strings it is escaped.
const separator = "\x00"

// NewNumberer binds a split for a run.
func NewNumberer(b *scan.Binder, s *Split) *Numberer {
	n := &Numberer{Strings: scan.NewStrings(b.Reserve)}
	if s.Kind == "" {
		n.Number = func(*scan.Row) uint32 { return 0 }
		return n
	}
	if s.IsByCohort() {
		n.Number = cohortSets(b, n, s.Cohorts)
		return n
	}
	getters := make([]scan.Getter, len(s.parts))
	for i, of := range s.parts {
		getters[i] = of(b)
	}
	// The first number, 0, is for the value of empty parts.
	_, _ = n.Strings.Number(strings.Repeat(separator, len(getters)-1))
	var scratch []byte
	n.Number = func(r *scan.Row) uint32 {
		if len(getters) == 1 {
			return countText(b, n, s.text(getters[0](r)))
		}
		scratch = scratch[:0]
		for i, get := range getters {
			if i > 0 {
				scratch = append(scratch, separator...)
			}
			scratch = append(scratch, s.text(get(r))...)
		}
		return countText(b, n, string(scratch))
	}
	return n
}

// countText returns the number of a value, and limits the number of values.
func countText(b *scan.Binder, n *Numberer, text string) uint32 {
	number, err := n.Strings.Number(text)
	if err == nil && len(n.All) > MaxValues {
		err = document.NewFault(document.TooLarge, "query__breakdownFilter", "There are more than %d breakdown values: narrow the range or filter.", MaxValues)
	}
	b.SetErr(err)
	return number
}

// text returns a property in the form of a breakdown value; "" if it is missing.
func (s *Split) text(raw string) string {
	text, _ := scan.Text(raw)
	if text != "" && s.normalize {
		if text = strings.TrimRight(text, "/?#"); text == "" {
			return "/"
		}
	}
	return text
}

// cohortSets returns a function that returns the number of the set of cohorts that contain an
// event's person. The string of a set has one byte for each cohort, '1' if it contains the person.
func cohortSets(b *scan.Binder, n *Numberer, cohorts []splitCohort) func(*scan.Row) uint32 {
	tests := make([]func(*scan.Row) bool, len(cohorts))
	for i, c := range cohorts {
		if c.ID == 0 {
			tests[i] = func(*scan.Row) bool { return true }
		} else {
			tests[i] = (&filter.CohortCondition{IDs: []int64{c.ID}}).Bind(b)
		}
	}
	set := make([]byte, len(cohorts))
	return func(r *scan.Row) uint32 {
		for i, in := range tests {
			set[i] = '0'
			if in(r) {
				set[i] = '1'
			}
		}
		return countText(b, n, string(set))
	}
}

// List returns the parts of a value.
func (n *Numberer) List(value uint32) []string { return strings.Split(n.All[value], separator) }

// InSet reports whether a value of a split by cohorts contains a cohort, by its index.
func (n *Numberer) InSet(value uint32, cohort int) bool { return n.All[value][cohort] == '1' }

// compare orders values by their parts.
func (n *Numberer) compare(a, b uint32) int { return slices.Compare(n.List(a), n.List(b)) }
