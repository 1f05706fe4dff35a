package insights

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

// Bounds of breakdowns (§5.4).
const (
	maxValues       = 100_000
	maxSplitCohorts = 64
)

// split is the breakdown of a funnel or of retention: properties of one type, or
// cohorts. Without a kind there is none.
type split struct {
	kind      string
	names     []string
	groupType int
	normalize bool
	limit     int
	cohorts   []splitCohort
}

// splitCohort is a cohort of a breakdown; id 0 is everybody.
type splitCohort struct {
	id   int64
	name string
}

func (s *split) byCohort() bool { return s.kind == "cohort" }

// split reads a breakdownFilter with at most so many properties.
func (n node) split(p *Project, most int, kinds ...string) split {
	n = n.object()
	s := split{limit: int(n.get("breakdown_limit").whole(1, 1000, 25)), normalize: n.get("breakdown_normalize_url").boolean(false)}
	if n.get("breakdown_histogram_bin_count").value != nil {
		n.refuse("breakdown_histogram_bin_count")
	}
	list := n.get("breakdowns").list(3)
	if len(list) > 0 {
		s.several(list, most, kinds)
		return s
	}
	by := n.get("breakdown")
	if by.absent() {
		return s
	}
	s.kind = n.get("breakdown_type").choice("event", kinds...)
	if s.byCohort() {
		s.readCohorts(by, p)
		return s
	}
	s.groupType = s.readGroupType(n.get("breakdown_group_type_index"))
	if _, ok := by.value.([]any); ok {
		for _, name := range by.list(most) {
			s.add(name)
		}
	} else {
		s.add(by)
	}
	if len(s.names) == 0 {
		s.kind = ""
	}
	return s
}

// several reads breakdowns, which must have one type.
func (s *split) several(list []node, most int, kinds []string) {
	if len(list) > most {
		list[most].fail(notSupported, "At most %d breakdowns are supported here.", most)
	}
	for i, m := range list {
		kind := m.get("type").choice("event", kinds...)
		if i > 0 && kind != s.kind || kind == "cohort" {
			m.get("type").fail(notSupported, "Breakdowns must have one type here, and not that of cohorts.")
		}
		s.kind = kind
		if kind == "group" {
			s.groupType = s.readGroupType(m.get("group_type_index"))
		}
		s.normalize = s.normalize || m.get("normalize_url").boolean(false)
		m.refuse("histogram_bin_count")
		s.add(m.get("property"))
	}
}

func (s *split) readGroupType(index node) int {
	if s.kind == "group" && index.absent() {
		index.fail(required, "A breakdown by groups needs the number of their type.")
	}
	return int(index.whole(0, maxGroupTypes-1, 0))
}

func (s *split) add(name node) {
	text := ""
	if number, ok := name.value.(json.Number); ok {
		text = number.String()
	} else if text = name.text(""); text == "" {
		name.fail(required, "A breakdown needs the name of a property.")
	}
	switch {
	case s.kind == "hogql" && fieldGetter(text) == nil:
		name.fail(notSupported, "Only properties.x and columns of events are supported here, not %s.", describe(text))
	case s.kind == "event_metadata" && columnGetters[text] == nil:
		name.fail(invalidInput, "Events have no column %s.", describe(text))
	}
	s.names = append(s.names, text)
}

func (s *split) readCohorts(by node, p *Project) {
	list := []node{by}
	if _, ok := by.value.([]any); ok {
		list = by.list(maxSplitCohorts)
	}
	for _, n := range list {
		c := splitCohort{name: "all users"}
		if text := strings.Trim(string(n.raw()), `"`); text != "all" && text != "0" {
			if c.id = n.cohort(p); !n.failed() {
				c.name = p.Definitions.Cohorts[c.id].Name
			}
		}
		s.cohorts = append(s.cohorts, c)
	}
}

var fieldOfEvent = regexp.MustCompile(`^\s*(?:properties\.([A-Za-z_$][\w$]*)|([A-Za-z_$][\w$]*))\s*$`)

// fieldGetter reads an expression that is a property or a column; nil for others.
func fieldGetter(expression string) func(b *binder) getter {
	m := fieldOfEvent.FindStringSubmatch(expression)
	switch {
	case m == nil:
		return nil
	case m[1] != "":
		return func(b *binder) getter { return b.eventProperty(m[1]) }
	}
	return columnGetters[m[2]]
}

// value looks at one property of a split.
func (b *binder) value(s *split, name string) getter {
	switch s.kind {
	case "person":
		return b.personValue(name)
	case "group":
		return b.groupValue(s.groupType, name)
	case "event_metadata":
		return columnGetters[name](b)
	case "hogql":
		return fieldGetter(name)(b)
	}
	return b.eventProperty(name)
}

// personValue is a property of the person as the mode of the query has it.
func (b *binder) personValue(name string) getter {
	if b.mode != personNow && b.mode != personOff {
		b.needs.columns |= PersonProperties
		slot := b.needs.person.slot(name)
		return func(r *row) string { return r.personProperty(slot) }
	}
	values := map[capture.UUID]string{}
	b.profiles(func(p *capture.StoredPerson) error {
		value, ok := p.Properties.Get(name)
		if !ok {
			return nil
		}
		values[p.UUID] = strings.Clone(value)
		return b.reserve(int64(len(value)) + 64)
	})
	person := b.people()
	return func(r *row) string { return values[b.personID(person(r))] }
}

// groupValue is a property of the event's group as it is now.
func (b *binder) groupValue(groupType int, name string) getter {
	values, one, found := map[string]string{}, keys{names: []string{name}}, make([]string, 1)
	b.groups(groupType, func(key, properties string) error {
		one.extract(properties, found)
		values[strings.Clone(key)] = strings.Clone(found[0])
		return b.reserve(int64(len(key)+len(found[0])) + 96)
	})
	key := b.groupKey(groupType)
	return func(r *row) string {
		k, _ := textOf(key(r))
		return values[k]
	}
}

// numberer numbers the values of a split. 0 is the one of which all texts are empty;
// of cohorts a value is a set of them.
type numberer struct {
	*texts
	number func(*row) uint32
}

// separator is between the texts of a value; in JSON texts it is escaped.
const separator = "\x00"

// numberer makes a split ready for a run.
func (b *binder) numberer(s *split) *numberer {
	n := &numberer{texts: newTexts(b.reserve)}
	if s.kind == "" {
		n.number = func(*row) uint32 { return 0 }
		return n
	}
	if s.byCohort() {
		n.number = b.cohortSets(n, s.cohorts)
		return n
	}
	getters := make([]getter, len(s.names))
	for i, name := range s.names {
		getters[i] = b.value(s, name)
	}
	_, _ = n.texts.number(strings.Repeat(separator, len(getters)-1))
	var scratch []byte
	n.number = func(r *row) uint32 {
		if len(getters) == 1 {
			return b.count(n, s.text(getters[0](r)))
		}
		scratch = scratch[:0]
		for i, get := range getters {
			if i > 0 {
				scratch = append(scratch, separator...)
			}
			scratch = append(scratch, s.text(get(r))...)
		}
		return b.count(n, string(scratch))
	}
	return n
}

func (b *binder) count(n *numberer, text string) uint32 {
	number, err := n.texts.number(text)
	if err == nil && len(n.all) > maxValues {
		err = failure(tooLarge, "query__breakdownFilter", "There are more than %d breakdown values: narrow the range or filter.", maxValues)
	}
	b.note(err)
	return number
}

// text is a property's value as a breakdown has it.
func (s *split) text(raw string) string {
	text, ok := textOf(raw)
	if ok && s.normalize {
		if text = strings.TrimRight(text, "/?#"); text == "" {
			return "/"
		}
	}
	return text
}

// cohortSets gives the set of cohorts that the person of an event is in, as a text of
// one byte for each cohort.
func (b *binder) cohortSets(n *numberer, cohorts []splitCohort) func(*row) uint32 {
	tests := make([]func(*row) bool, len(cohorts))
	for i, c := range cohorts {
		if c.id == 0 {
			tests[i] = func(*row) bool { return true }
		} else {
			tests[i] = (&inCohorts{ids: []int64{c.id}}).bind(b)
		}
	}
	set := make([]byte, len(cohorts))
	return func(r *row) uint32 {
		for i, in := range tests {
			set[i] = '0'
			if in(r) {
				set[i] = '1'
			}
		}
		return b.count(n, string(set))
	}
}

// list is the texts of a value.
func (n *numberer) list(value uint32) []string { return strings.Split(n.all[value], separator) }

// inSet says whether a value of a split by cohorts has one of them.
func (n *numberer) inSet(value uint32, cohort int) bool { return n.all[value][cohort] == '1' }

// compare orders values by their texts, one after the other.
func (n *numberer) compare(a, b uint32) int { return slices.Compare(n.list(a), n.list(b)) }

// scanBound scans for what a binder needs and gives each event; what binding or
// looking at events found wrong ends it.
func (b *binder) scanBound(s Scan, see func(r *row) error) error {
	if b.err != nil {
		return b.err
	}
	s.Columns |= b.needs.columns
	r := newRow(&b.needs)
	return b.scan(s, func(batch *Batch) error {
		for i := range batch.Len() {
			r.at(batch, i)
			if err := see(r); err != nil {
				return err
			}
		}
		return b.err
	})
}
