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

// Labels of breakdown values that are not ordinary strings (§2.4.4).
const (
	NullValue  = "$$_posthog_breakdown_null_$$"
	OtherValue = "$$_posthog_breakdown_other_$$"
)

// Breakdown splits a series by properties of its events, or by cohorts.
type Breakdown struct {
	Parts []Part
	// Several is true if the newer member "breakdowns" was sent: values in the response are lists
	// then.
	Several bool
	// Cohorts are the ids of a breakdown by cohorts, in the order of the query; 0 is all persons.
	Cohorts  []int64
	ByCohort bool
	// Limit is the number of values of a result; HideOther omits the row that sums the rest.
	Limit     int
	HideOther bool
}

// Part is one property of a breakdown.
type Part struct {
	// BindValue returns the getter of the property; normalize removes trailing characters of URLs.
	BindValue func(b *scan.Binder) scan.Getter
	normalize bool
	Bins      int // number of numeric bins; 0: values are not binned
}

// Limits of breakdowns (§2.4.4).
const (
	maxBins  = 100
	MaxParts = 3
)

// Read parses a breakdownFilter; it returns nil if there is no breakdown. trendsFilter may
// have the number of bins in the older form.
func Read(n document.Node, p *port.Project, trendsFilter document.Node) *Breakdown {
	b := &Breakdown{Limit: int(n.Get("breakdown_limit").IntInRange(1, 1000, 25)), HideOther: n.Get("breakdown_hide_other_aggregation").Boolean()}
	if list := n.Get("breakdowns").List(MaxParts); len(list) > 0 {
		b.Several = true
		for _, part := range list {
			if kind := part.Get("type").Text("event"); kind == "cohort" {
				part.Get("type").Fail(document.NotSupported, "Cohorts cannot be one of several breakdowns.")
			} else {
				b.Parts = append(b.Parts, ReadPart(part, kind, part.Get("property"), "", p))
			}
		}
		return b
	}
	if n.Get("breakdown").IsAbsent() {
		return nil
	}
	kind := n.Get("breakdown_type").Text("event")
	if kind == "cohort" {
		b.readCohorts(n.Get("breakdown"), p)
		return b
	}
	property := n.Get("breakdown")
	// A list with one property is the same as the property.
	if list, ok := property.Value.([]any); ok && len(list) == 1 {
		property = property.List(1)[0]
	}
	part := ReadPart(n, kind, property, "breakdown_", p)
	// In older queries the number of bins is a member of trendsFilter.
	if bins := trendsFilter.Get("breakdown_histogram_bin_count"); part.Bins == 0 && !bins.IsAbsent() {
		part.Bins = int(bins.IntInRange(1, maxBins, 1))
	}
	b.Parts = []Part{part}
	return b
}

// ReadPart parses one property of a breakdown. prefix is the common prefix of the names of its
// members in the older form, "" in the newer one.
func ReadPart(n document.Node, kind string, property document.Node, prefix string, p *port.Project) Part {
	part := Part{normalize: n.Get(prefix + "normalize_url").Boolean()}
	if bins := n.Get(prefix + "histogram_bin_count"); !bins.IsAbsent() {
		part.Bins = int(bins.IntInRange(1, maxBins, 1))
	}
	part.BindValue = readProperty(n, kind, property, n.Get(prefix+"group_type_index"), p)
	return part
}

// readProperty returns the property of a breakdown as a value of events. kind is its type, such as
// event or person; group is the index of the group type for kind group.
func readProperty(n document.Node, kind string, property, group document.Node, p *port.Project) func(b *scan.Binder) scan.Getter {
	name := property.Text("")
	if property.IsAbsent() {
		property.Fail(document.Required, "A breakdown needs a property.")
	}
	switch kind {
	case "event":
		return func(b *scan.Binder) scan.Getter { return b.EventProperty(name) }
	case "person":
		return func(b *scan.Binder) scan.Getter { return b.PersonProperty(name) }
	case "session":
		scan.ReadSessionName(property, name)
		return func(b *scan.Binder) scan.Getter { return b.SessionValue(name) }
	case "event_metadata":
		if scan.ColumnGetters[name] == nil {
			property.Fail(document.InvalidInput, "Events have no column %s.", document.Describe(name))
		}
		return scan.ColumnGetters[name]
	case "group":
		if group.IsAbsent() {
			group.Fail(document.Required, "A breakdown by group needs the index of a group type.")
		}
		index := int(group.IntInRange(0, scan.MaxGroupTypes-1, 0))
		return func(b *scan.Binder) scan.Getter { return b.GroupProperty(index, name) }
	case "hogql":
		return filter.ReadValue(property, p)
	}
	n.Get("breakdown_type").Fail(document.NotSupported, "Breakdowns of type %s are not supported.", document.Describe(kind))
	return nil
}

// readCohorts reads the cohorts of a breakdown: an id or a list of ids, in which "all" and 0 mean
// all persons.
func (b *Breakdown) readCohorts(n document.Node, p *port.Project) {
	b.ByCohort = true
	list := []document.Node{n}
	if _, ok := n.Value.([]any); ok {
		list = n.List(filter.MaxFilters)
	}
	for _, id := range list {
		if text, ok := id.Value.(string); ok && text == "all" {
			b.Cohorts = append(b.Cohorts, 0)
		} else if id.IntInRange(0, 1<<53, 0) == 0 {
			b.Cohorts = append(b.Cohorts, 0)
		} else {
			b.Cohorts = append(b.Cohorts, filter.ReadCohort(id, p))
		}
	}
}

// HasBins reports whether a property of the breakdown is divided into numeric bins.
func (b *Breakdown) HasBins() bool {
	return slices.ContainsFunc(b.Parts, func(p Part) bool { return p.Bins > 0 })
}

// Value is one value of a breakdown, with one string for each part.
type Value struct {
	Texts []string
}

// Rank returns 1 for values with a missing part, which results list last, and 0 for other values.
func (v Value) Rank() int {
	if slices.Contains(v.Texts, NullValue) {
		return 1
	}
	return 0
}

// ValueReader returns the breakdown values that an event counts for.
type ValueReader struct {
	Breakdown *Breakdown
	Parts     []scan.Getter
	// cohorts report whether the person of an event is in a cohort, in the order of the breakdown.
	cohorts []func(*scan.Row) bool
	// Always are the values that have a row even without events: the cohorts.
	Always []string
	// key and keys are reused by ValueKeys.
	key  []byte
	keys []string
}

// Bind prepares the breakdown for a run; it returns nil for a nil breakdown. Breakdown values are
// identified by keys: the parts joined by a zero byte, or the position of a cohort.
func (b *Breakdown) Bind(dst *scan.Binder) *ValueReader {
	if b == nil {
		return nil
	}
	v := &ValueReader{Breakdown: b}
	for _, part := range b.Parts {
		v.Parts = append(v.Parts, part.BindValue(dst))
	}
	for i, id := range b.Cohorts {
		v.Always = append(v.Always, strconv.Itoa(i))
		in := func(*scan.Row) bool { return true }
		if id != 0 {
			in = (&filter.CohortCondition{IDs: []int64{id}}).Bind(dst)
		}
		v.cohorts = append(v.cohorts, in)
	}
	return v
}

// ValueKeys returns the keys of an event's values. Only a breakdown by cohorts can have several for
// an event, or an empty list. The slice is valid until the next call.
func (v *ValueReader) ValueKeys(w *scan.Row, bins []Bins) []string {
	v.keys = v.keys[:0]
	if v.Breakdown.ByCohort {
		for i, in := range v.cohorts {
			if in(w) {
				v.keys = append(v.keys, v.Always[i])
			}
		}
		return v.keys
	}
	if len(v.Parts) == 1 {
		v.keys = append(v.keys, v.text(w, 0, bins))
		return v.keys
	}
	v.key = v.key[:0]
	for i := range v.Parts {
		if i > 0 {
			v.key = append(v.key, 0)
		}
		v.key = append(v.key, v.text(w, i, bins)...)
	}
	v.keys = append(v.keys, string(v.key))
	return v.keys
}

// text returns part i of the event's value: the label of its bin, or the property as a string,
// NullValue if it is missing or empty.
func (v *ValueReader) text(w *scan.Row, i int, bins []Bins) string {
	raw := v.Parts[i](w)
	part := &v.Breakdown.Parts[i]
	if part.Bins > 0 {
		f, ok := document.NumberOf(raw)
		if !ok || bins == nil {
			return NullValue
		}
		return bins[i].label(f)
	}
	text, _ := scan.Text(raw)
	if text == "" {
		return NullValue
	}
	if part.normalize {
		if text = strings.TrimRight(text, "/?#"); text == "" {
			return "/"
		}
	}
	return text
}

// ValueIndex assigns consecutive numbers to the breakdown values of a series.
type ValueIndex struct {
	numbers map[string]int
	Values  []Value
	InRange []bool // whether an event of the value is in the query's range
	Limit   int
	Reserve func(int64) error
}

// AddAll adds values in the given order.
func (x *ValueIndex) AddAll(values []string) {
	for _, v := range values {
		_, _ = x.IndexOf(v)
	}
}

// IndexOf returns the number of a value and adds the value if it is new. It fails if there are more
// than limit values.
func (x *ValueIndex) IndexOf(key string) (int, error) {
	if i, ok := x.numbers[key]; ok {
		return i, nil
	}
	if len(x.Values) == x.Limit {
		return 0, document.NewFault(document.TooLarge, "query__breakdownFilter", "More than %d breakdown values: narrow the range or filter.", x.Limit)
	}
	if x.numbers == nil {
		x.numbers = map[string]int{}
	}
	key = strings.Clone(key)
	i := len(x.Values)
	x.numbers[key] = i
	x.Values = append(x.Values, Value{Texts: strings.Split(key, "\x00")})
	x.InRange = append(x.InRange, false)
	return i, x.Reserve(int64(len(key)) + 128)
}

// Span is the range of a set of numbers; it is meaningful only if IsSet.
type Span struct {
	IsSet    bool
	Min, Max float64
}

// Bins are the numeric bins of one property: bin i is from edges[i] up to but not including
// edges[i+1], and is labeled texts[i].
type Bins struct {
	Edges []float64
	Texts []string
}

// label returns the label of the bin that a number is in.
func (b *Bins) label(f float64) string {
	for k := range b.Texts {
		if f >= b.Edges[k] && f < b.Edges[k+1] {
			return b.Texts[k]
		}
	}
	return NullValue
}

// MaxValues is the maximum number of values of a breakdown (§5.4).
const MaxValues = 100_000

// ReadValue parses a breakdown value in the form in which results contain it. anyValue is
// true if the query does not select a value.
func ReadValue(n document.Node) (texts []string, anyValue bool) {
	list := []document.Node{n}
	if _, ok := n.Value.([]any); ok {
		list = n.List(filter.MaxFilters)
	}
	for _, v := range list {
		text, _ := scan.Text(string(v.Raw()))
		texts = append(texts, text)
	}
	return texts, len(list) == 0 || n.IsAbsent()
}
