package segment

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

// A file has columns of frequent properties. Each has the value of a property as it is in the column
// properties, and null for events without it. Which properties these are is decided by the sample, the
// first events of the file: those that most events have, and whose values are short scalars and
// do not differ too much.
const (
	// maxProperties is the maximum number of these columns.
	maxProperties = 32
	// sampleEvents is the number of events of the sample, sampleNames that of the names of properties in
	// it, and sampleValues that of their different values. Further names have no column, and the
	// sample ends at the first of further values.
	sampleEvents, sampleNames, sampleValues = 2048, 512, 1 << 16
	// maxColumnName is the maximum length of the name of such a property, and maxSampled that of its values in
	// the sample, in bytes. Values that are longer in later events are in the column, too.
	maxColumnName, maxSampled = 100, 128
	// propertyBytes is the maximum length of the different values of a property in the sample, divided
	// by the number of the events that have it, and allBytes that of all columns, divided by the number
	// of all events. Fewer than fewEvents events count as fewEvents.
	propertyBytes, allBytes, fewEvents = 16, 48, 64
	// fewValues is the number of different values of a group from which a property may have no
	// dictionary: if three quarters of the values differ. maxDictionary is the maximum length of
	// the dictionary, and maxValues the maximum number of values in the dictionaries of all
	// properties; values beyond are in plain pages.
	fewValues, maxDictionary, maxValues = 1024, 256 << 10, 1 << 17
	// plainBytes is the maximum size of the values of a plain page, before compression, unless it has
	// only one value.
	plainBytes = 64 << 10
	// maxOthers is the maximum number of the names of properties without a column in a file, and
	// maxOtherBytes that of their length. If there are more, the file has no names.
	maxOthers, maxOtherBytes = 2048, 32 << 10
)

// propertyWriter writes the columns of frequent properties.
type propertyWriter struct {
	out *Writer
	// list are the properties that have a column, in the order of their names. Until they are chosen, it
	// has all candidates, and nil for those that were dropped.
	list      []*property
	names     propertyNames
	isDecided bool
	// others are the names of properties without a column, and otherBytes is their length. It is nil if
	// they are too many.
	others     map[string]bool
	otherBytes int
	// rows is the number of events of the group so far, and values the number of different values in
	// the dictionaries of list.
	rows, values int
	levels       []uint8 // reusable memory
}

// property is a property with its values in the current group.
type property struct {
	chunkWriter
	name  string
	index int // in the list
	// present are the rows that have a value; after toPlain only those of the next page, whose
	// values are in strings.
	present []int32
	isPlain bool
	first   int // the first row of the next plain page
	// entries are the indexes in the dictionary of the values of present.
	entries []int32
	numbers map[string]int32
	values  []byte // the dictionary
	// texts are the strings of the dictionary.
	texts []string
	// lastEntry is the index of the last value, because neighbours are often equal.
	lastEntry int32
}

func newPropertyWriter(out *Writer) propertyWriter {
	return propertyWriter{out: out, names: propertyNames{byName: map[string]*propertyName{}}, others: map[string]bool{}}
}

// add adds the properties of an event.
func (p *propertyWriter) add(properties string) error {
	row := int32(p.rows)
	p.rows++
	r := jsontext.Reader{Src: properties, Spans: true}
	if r.Space(); r.Peek() != '{' || !r.Enter() {
		return nil
	}
	name := &p.names.start
	for first := true; ; first = false {
		if name = p.nextName(&r, name, first); name == nil {
			break
		}
		c := name.property
		if c != nil && c.repeats(&r, row) {
			continue
		}
		value, ok := r.Raw()
		if !ok {
			break
		}
		if c == nil {
			continue
		}
		if err := p.addValue(c, row, value); err != nil {
			return err
		}
	}
	if r.Fault != nil { // there may be more
		p.others = nil
	}
	if !p.isDecided && (p.rows == sampleEvents || p.values > sampleValues) {
		p.choose()
	}
	return nil
}

// note adds the name of a property without a column.
func (p *propertyWriter) note(name string) {
	if p.others == nil || p.others[name] {
		return
	}
	if p.otherBytes += len(name); len(p.others) == maxOthers || p.otherBytes > maxOtherBytes {
		p.others = nil
		return
	}
	p.others[strings.Clone(name)] = true
}

// candidate returns a new candidate, or nil if the property with a name has no column.
func (p *propertyWriter) candidate(name string) *property {
	if p.isDecided || len(p.list) == sampleNames || !isColumnName(name) {
		p.note(name)
		return nil
	}
	c := &property{name: name, index: len(p.list), numbers: map[string]int32{}}
	c.column = propertyColumn(name)
	c.reset()
	p.list = append(p.list, c)
	return c
}

// isColumnName reports whether a column may have the name of a property.
func isColumnName(name string) bool {
	return name != "" && len(name) <= maxColumnName && utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return r < ' ' }) < 0
}

// addValue adds the value of a property.
func (p *propertyWriter) addValue(c *property, row int32, value string) error {
	if n := len(c.present); n > 0 && c.present[n-1] == row {
		return nil // a name occurs once
	}
	if c.isPlain {
		return p.addPlain(c, row, value)
	}
	if !p.isDecided && (len(value) > maxSampled || value[0] == '{' || value[0] == '[') {
		p.drop(c)
		return nil
	}
	if len(c.entries) == 0 || value != c.texts[c.lastEntry] {
		n, ok := c.numbers[value]
		if !ok {
			if value = strings.Clone(value); !p.mayAdd(c, value) {
				return p.toPlain(c, row, value)
			}
			n = int32(len(c.numbers))
			c.numbers[value], c.texts = n, append(c.texts, value)
			c.values = appendEntry(c.values, value)
			p.values++
		}
		c.lastEntry = n
	}
	c.present, c.entries = append(c.present, row), append(c.entries, c.lastEntry)
	if !p.isDecided && len(c.values) > propertyBytes*sampleEvents {
		p.drop(c)
	}
	return nil
}

// mayAdd reports whether a value may be added to the dictionary of a property.
func (p *propertyWriter) mayAdd(c *property, value string) bool {
	if !p.isDecided {
		return true
	}
	n := len(c.numbers)
	return len(c.values)+len(value) <= maxDictionary && p.values < maxValues && (n < fewValues || 4*n < 3*len(c.present))
}

// drop removes a property from the candidates. Its index remains, so that those of others are right.
func (p *propertyWriter) drop(c *property) {
	p.values -= len(c.numbers)
	p.names.byName[c.name].property = nil
	p.list[c.index] = nil
	p.note(c.name)
}

// choose chooses the properties that have a column.
func (p *propertyWriter) choose() {
	p.isDecided = true
	candidates := slices.DeleteFunc(p.list, func(c *property) bool { return c == nil })
	slices.SortFunc(candidates, func(a, b *property) int {
		return cmp.Or(cmp.Compare(len(b.present), len(a.present)), cmp.Compare(len(a.values), len(b.values)), cmp.Compare(a.name, b.name))
	})
	total, lowered := 0, map[string]bool{} // in DuckDB, names that differ in case only are equal
	isLarge := func(size, bytes, events int) bool { return size > bytes*max(events, fewEvents) }
	p.list, p.values = nil, 0
	for _, c := range candidates {
		lower := strings.ToLower(c.name)
		if len(p.list) == maxProperties || isLarge(len(c.values), propertyBytes, len(c.present)) || isLarge(total+len(c.values), allBytes, p.rows) || lowered[lower] {
			p.names.byName[c.name].property = nil
			p.note(c.name)
			continue
		}
		total += len(c.values)
		lowered[lower] = true
		p.list = append(p.list, c)
		p.values += len(c.numbers)
	}
	slices.SortFunc(p.list, func(a, b *property) int { return cmp.Compare(a.name, b.name) })
	for i, c := range p.list {
		c.index = i
	}
}

// addPlain adds a value to the next plain page.
func (p *propertyWriter) addPlain(c *property, row int32, value string) error {
	for int(row)-c.first >= shortRows {
		if err := p.endPlain(c, c.first+shortRows); err != nil {
			return err
		}
	}
	if len(c.present) > 0 && len(c.strings)+len(value) > plainBytes {
		if err := p.endPlain(c, int(row)); err != nil {
			return err
		}
	}
	c.strings = append(c.strings, value...)
	c.offsets = append(c.offsets, uint32(len(c.strings)))
	c.present = append(c.present, row)
	return nil
}

// endPlain writes a plain page, which ends before a row.
func (p *propertyWriter) endPlain(c *property, end int) (err error) {
	w := p.out
	if w.values, err = deltaStrings.EncodeByteArray(w.values[:0], c.strings, c.offsets); err != nil {
		return err
	}
	err = p.addPage(c, c.first, end, c.present)
	c.first, c.present, c.strings, c.offsets = end, c.present[:0], c.strings[:0], c.offsets[:1]
	return err
}

// addPage adds a page with the values of the writer for a range of rows, of which some have a value.
func (p *propertyWriter) addPage(c *property, first, end int, present []int32) (err error) {
	p.levels = append(p.levels[:0], make([]uint8, end-first)...)
	for _, row := range present {
		p.levels[int(row)-first] = 1
	}
	levels, err := rleLevels.EncodeLevels(nil, p.levels)
	if err != nil {
		return err
	}
	return p.out.addLevels(&c.chunkWriter, end-first, levels, end-first-len(present), p.out.values)
}

// toPlain writes a property in plain pages from now on, and adds a value.
func (p *propertyWriter) toPlain(c *property, row int32, value string) error {
	d := dictionary{values: c.values}
	if _, ok := d.findStrings(); !ok {
		return errors.New("a dictionary has other values than were added") // impossible
	}
	present, entries := c.present, c.entries
	p.values -= len(c.numbers)
	c.isPlain, c.pageEncoding, c.present = true, c.plain(), nil
	for i, row := range present {
		from, to := d.text(uint16(entries[i]))
		if err := p.addPlain(c, row, string(c.values[from:to])); err != nil {
			return err
		}
	}
	c.clear()
	return p.addPlain(c, row, value)
}

// clear empties the dictionary.
func (c *property) clear() {
	clear(c.numbers)
	clear(c.texts)
	c.values, c.entries, c.texts = c.values[:0], c.entries[:0], c.texts[:0]
}

// end writes the columns of the group.
func (p *propertyWriter) end() error {
	if !p.isDecided {
		p.choose()
	}
	for _, c := range p.list {
		err := p.endProperty(c)
		if err != nil {
			return err
		}
	}
	return nil
}

// endProperty writes the remaining pages of a property.
func (p *propertyWriter) endProperty(c *property) (err error) {
	w := p.out
	if c.isPlain {
		for c.first < p.rows && err == nil {
			err = p.endPlain(c, min(p.rows, c.first+shortRows))
		}
		return err
	}
	present, entries := c.present, c.entries
	for first := 0; first < p.rows; first += shortRows {
		end := min(first+shortRows, p.rows)
		n, _ := slices.BinarySearch(present, int32(end))
		if w.values, err = rleIndexes.EncodeInt32(w.values[:0], entries[:n]); err != nil {
			return err
		}
		if err := p.addPage(c, first, end, present[:n]); err != nil {
			return err
		}
		present, entries = present[n:], entries[n:]
	}
	return w.addDictionary(&c.chunkWriter, len(c.numbers), c.values)
}

// reset ends the current group.
func (p *propertyWriter) reset() {
	p.rows, p.values = 0, 0
	for _, c := range p.list {
		if c != nil {
			c.clear()
			c.present, c.isPlain, c.first = c.present[:0], false, 0
		}
	}
}

// columns returns the columns of a file with these properties.
func (p *propertyWriter) columns() []*column {
	list := fixedColumns()
	for _, c := range p.list {
		list = append(list, c.column)
	}
	return list
}
