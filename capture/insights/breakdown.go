package insights

import (
	"slices"
	"strconv"
	"strings"
)

// Labels of breakdown values that are not ordinary strings (§2.4.4).
const (
	nullValue  = "$$_posthog_breakdown_null_$$"
	otherValue = "$$_posthog_breakdown_other_$$"
)

// breakdown splits a series by properties of its events, or by cohorts.
type breakdown struct {
	parts []breakdownPart
	// several is true if the newer member "breakdowns" was sent: values in the response are lists
	// then.
	several bool
	// cohorts are the ids of a breakdown by cohorts, in the order of the query; 0 is all persons.
	cohorts  []int64
	byCohort bool
	// limit is the number of values of a result; hideOther omits the row that sums the rest.
	limit     int
	hideOther bool
}

// breakdownPart is one property of a breakdown.
type breakdownPart struct {
	// bindValue returns the getter of the property; normalize removes trailing characters of URLs.
	bindValue func(b *binder) getter
	normalize bool
	bins      int // number of numeric bins; 0: values are not binned
}

// Limits of breakdowns (§2.4.4).
const (
	maxBins  = 100
	maxParts = 3
)

// readBreakdown parses a breakdownFilter; it returns nil if there is no breakdown. trendsFilter may
// have the number of bins in the older form.
func readBreakdown(n node, p *Project, trendsFilter node) *breakdown {
	b := &breakdown{limit: int(n.get("breakdown_limit").intInRange(1, 1000, 25)), hideOther: n.get("breakdown_hide_other_aggregation").boolean()}
	if list := n.get("breakdowns").list(maxParts); len(list) > 0 {
		b.several = true
		for _, part := range list {
			if kind := part.get("type").text("event"); kind == "cohort" {
				part.get("type").fail(notSupported, "Cohorts cannot be one of several breakdowns.")
			} else {
				b.parts = append(b.parts, readBreakdownPart(part, kind, part.get("property"), "", p))
			}
		}
		return b
	}
	if n.get("breakdown").isAbsent() {
		return nil
	}
	kind := n.get("breakdown_type").text("event")
	if kind == "cohort" {
		b.readCohorts(n.get("breakdown"), p)
		return b
	}
	property := n.get("breakdown")
	// A list with one property is the same as the property.
	if list, ok := property.value.([]any); ok && len(list) == 1 {
		property = property.list(1)[0]
	}
	part := readBreakdownPart(n, kind, property, "breakdown_", p)
	// In older queries the number of bins is a member of trendsFilter.
	if bins := trendsFilter.get("breakdown_histogram_bin_count"); part.bins == 0 && !bins.isAbsent() {
		part.bins = int(bins.intInRange(1, maxBins, 1))
	}
	b.parts = []breakdownPart{part}
	return b
}

// readBreakdownPart parses one property of a breakdown. prefix is the common prefix of the names of its
// members in the older form, "" in the newer one.
func readBreakdownPart(n node, kind string, property node, prefix string, p *Project) breakdownPart {
	part := breakdownPart{normalize: n.get(prefix + "normalize_url").boolean()}
	if bins := n.get(prefix + "histogram_bin_count"); !bins.isAbsent() {
		part.bins = int(bins.intInRange(1, maxBins, 1))
	}
	part.bindValue = readProperty(n, kind, property, n.get(prefix+"group_type_index"), p)
	return part
}

// readProperty returns the property of a breakdown as a value of events. kind is its type, such as
// event or person; group is the index of the group type for kind group.
func readProperty(n node, kind string, property, group node, p *Project) func(b *binder) getter {
	name := property.text("")
	if property.isAbsent() {
		property.fail(required, "A breakdown needs a property.")
	}
	switch kind {
	case "event":
		return func(b *binder) getter { return b.eventProperty(name) }
	case "person":
		return func(b *binder) getter { return b.personProperty(name) }
	case "session":
		readSessionName(property, name)
		return func(b *binder) getter { return b.sessionValue(name) }
	case "event_metadata":
		if columnGetters[name] == nil {
			property.fail(invalidInput, "Events have no column %s.", describe(name))
		}
		return columnGetters[name]
	case "group":
		if group.isAbsent() {
			group.fail(required, "A breakdown by group needs the index of a group type.")
		}
		index := int(group.intInRange(0, maxGroupTypes-1, 0))
		return func(b *binder) getter { return b.groupProperty(index, name) }
	case "hogql":
		return hogqlValue(property, p)
	}
	n.get("breakdown_type").fail(notSupported, "Breakdowns of type %s are not supported.", describe(kind))
	return nil
}

// readCohorts reads the cohorts of a breakdown: an id or a list of ids, in which "all" and 0 mean
// all persons.
func (b *breakdown) readCohorts(n node, p *Project) {
	b.byCohort = true
	list := []node{n}
	if _, ok := n.value.([]any); ok {
		list = n.list(maxFilters)
	}
	for _, id := range list {
		if text, ok := id.value.(string); ok && text == "all" {
			b.cohorts = append(b.cohorts, 0)
		} else if id.intInRange(0, 1<<53, 0) == 0 {
			b.cohorts = append(b.cohorts, 0)
		} else {
			b.cohorts = append(b.cohorts, readCohort(id, p))
		}
	}
}

// hasBins reports whether a property of the breakdown is divided into numeric bins.
func (b *breakdown) hasBins() bool {
	return slices.ContainsFunc(b.parts, func(p breakdownPart) bool { return p.bins > 0 })
}

// breakdownValue is one value of a breakdown, with one string for each part.
type breakdownValue struct {
	texts []string
}

// rank returns 1 for values with a missing part, which results list last, and 0 for other values.
func (v breakdownValue) rank() int {
	if slices.Contains(v.texts, nullValue) {
		return 1
	}
	return 0
}

// valueReader returns the breakdown values that an event counts for.
type valueReader struct {
	breakdown *breakdown
	parts     []getter
	// cohorts report whether the person of an event is in a cohort, in the order of the breakdown.
	cohorts []func(*row) bool
	// always are the values that have a row even without events: the cohorts.
	always []string
	// key and keys are reused by valueKeys.
	key  []byte
	keys []string
}

// bind prepares the breakdown for a run; it returns nil for a nil breakdown. Breakdown values are
// identified by keys: the parts joined by a zero byte, or the position of a cohort.
func (b *breakdown) bind(dst *binder) *valueReader {
	if b == nil {
		return nil
	}
	v := &valueReader{breakdown: b}
	for _, part := range b.parts {
		v.parts = append(v.parts, part.bindValue(dst))
	}
	for i, id := range b.cohorts {
		v.always = append(v.always, strconv.Itoa(i))
		in := func(*row) bool { return true }
		if id != 0 {
			in = (&cohortCondition{ids: []int64{id}}).bind(dst)
		}
		v.cohorts = append(v.cohorts, in)
	}
	return v
}

// valueKeys returns the keys of an event's values. Only a breakdown by cohorts can have several for
// an event, or an empty list. The slice is valid until the next call.
func (v *valueReader) valueKeys(w *row, bins []bins) []string {
	v.keys = v.keys[:0]
	if v.breakdown.byCohort {
		for i, in := range v.cohorts {
			if in(w) {
				v.keys = append(v.keys, v.always[i])
			}
		}
		return v.keys
	}
	if len(v.parts) == 1 {
		v.keys = append(v.keys, v.text(w, 0, bins))
		return v.keys
	}
	v.key = v.key[:0]
	for i := range v.parts {
		if i > 0 {
			v.key = append(v.key, 0)
		}
		v.key = append(v.key, v.text(w, i, bins)...)
	}
	v.keys = append(v.keys, string(v.key))
	return v.keys
}

// text returns part i of the event's value: the label of its bin, or the property as a string,
// nullValue if it is missing or empty.
func (v *valueReader) text(w *row, i int, bins []bins) string {
	raw := v.parts[i](w)
	part := &v.breakdown.parts[i]
	if part.bins > 0 {
		f, ok := numberOf(raw)
		if !ok || bins == nil {
			return nullValue
		}
		return bins[i].label(f)
	}
	text, _ := textOf(raw)
	if text == "" {
		return nullValue
	}
	if part.normalize {
		if text = strings.TrimRight(text, "/?#"); text == "" {
			return "/"
		}
	}
	return text
}

// valueIndex assigns consecutive numbers to the breakdown values of a series.
type valueIndex struct {
	numbers map[string]int
	values  []breakdownValue
	inRange []bool // whether an event of the value is in the query's range
	limit   int
	reserve func(int64) error
}

// addAll adds values in the given order.
func (x *valueIndex) addAll(values []string) {
	for _, v := range values {
		_, _ = x.indexOf(v)
	}
}

// indexOf returns the number of a value and adds the value if it is new. It fails if there are more
// than limit values.
func (x *valueIndex) indexOf(key string) (int, error) {
	if i, ok := x.numbers[key]; ok {
		return i, nil
	}
	if len(x.values) == x.limit {
		return 0, newError(tooLarge, "query__breakdownFilter", "More than %d breakdown values: narrow the range or filter.", x.limit)
	}
	if x.numbers == nil {
		x.numbers = map[string]int{}
	}
	key = strings.Clone(key)
	i := len(x.values)
	x.numbers[key] = i
	x.values = append(x.values, breakdownValue{texts: strings.Split(key, "\x00")})
	x.inRange = append(x.inRange, false)
	return i, x.reserve(int64(len(key)) + 128)
}

// span is the range of a set of numbers; it is meaningful only if isSet.
type span struct {
	isSet    bool
	min, max float64
}

// bins are the numeric bins of one property: bin i is from edges[i] up to but not including
// edges[i+1], and is labeled texts[i].
type bins struct {
	edges []float64
	texts []string
}

// label returns the label of the bin that a number is in.
func (b *bins) label(f float64) string {
	for k := range b.texts {
		if f >= b.edges[k] && f < b.edges[k+1] {
			return b.texts[k]
		}
	}
	return nullValue
}

// maxBreakdownValues is the maximum number of values of a breakdown (§5.4).
const maxBreakdownValues = 100_000

// parseBreakdownValue parses a breakdown value in the form in which results contain it. anyValue is
// true if the query does not select a value.
func parseBreakdownValue(n node) (texts []string, anyValue bool) {
	list := []node{n}
	if _, ok := n.value.([]any); ok {
		list = n.list(maxFilters)
	}
	for _, v := range list {
		text, _ := textOf(string(v.raw()))
		texts = append(texts, text)
	}
	return texts, len(list) == 0 || n.isAbsent()
}
