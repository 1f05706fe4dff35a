package segment

import (
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// Property has the values of a property of the events of a group.
type Property struct {
	// Values are JSON texts as they are in the properties of an event. The first one is empty, for events
	// without the property. They share memory.
	Values []string
	// Of has the index in Values for each event.
	Of []uint16
	// Bytes is the length of the values in bytes.
	Bytes int
}

// PropertyBytes returns the size of the columns of some properties in a group before compression, in bytes.
// ok is false if one of them occurs in the file, but has no column.
func (f *File) PropertyBytes(group int, names []string) (bytes int64, ok bool) {
	for _, name := range names {
		if at, ok := f.properties[name]; ok {
			bytes += f.groups[group].properties[at].bytes
		} else if f.others == nil || f.others[name] {
			return 0, false
		}
	}
	return bytes, true
}

// Property decodes the values of a property of the events of a group, and reuses the memory of p.
// PropertyBytes must have reported that this is possible.
func (f *File) Property(group int, name string, p *Property) error {
	return f.with(group, func(r *reader, events int) error {
		clear(p.Values)
		p.Values, p.Of, p.Bytes = append(p.Values[:0], ""), slices.Grow(p.Of[:0], events), 0
		at, ok := f.properties[name]
		switch {
		case ok:
			return r.readProperty(at, name, p)
		case f.others == nil || f.others[name]:
			return f.wrap(damagedf("no column of the property %q", name))
		}
		p.Of = p.Of[:events]
		clear(p.Of)
		return nil
	})
}

// noEntry stands for a row without a value in page.entries.
const noEntry = math.MaxUint16

// readProperty appends the values of the column with an index.
func (r *reader) readProperty(at int, name string, to *Property) error {
	c, encoding := &r.group.properties[at], format.DeltaLengthByteArray
	if c.hasDictionary() {
		encoding = format.RLEDictionary
		d := &r.listed
		if err := r.readDictionary(d, c.dictionaryPage(), format.ByteArray); err != nil {
			return r.wrapIn(propertyPrefix+name, c.dictionaryPage(), err)
		}
		to.Values, to.Bytes = d.strings(to.Values), len(d.values)
	}
	for i := range c.count() {
		p, from := &r.property, c.page(i)
		if err := r.decodeProperty(p, from, encoding); err != nil {
			return r.wrapIn(propertyPrefix+name, from, err)
		}
		base := 1
		if encoding == format.DeltaLengthByteArray {
			base = len(to.Values)
			start := p.offsets[0]
			all := string(p.bytes[start:p.offsets[len(p.offsets)-1]])
			for i := range len(p.offsets) - 1 {
				to.Values = append(to.Values, all[p.offsets[i]-start:p.offsets[i+1]-start])
			}
			to.Bytes += len(all)
		}
		for _, n := range p.entries {
			if n == noEntry {
				to.Of = append(to.Of, 0)
				continue
			}
			if base+int(n) >= len(to.Values) {
				return r.wrapIn(propertyPrefix+name, from, damagedf("entry %d of %d", n, len(to.Values)-base))
			}
			to.Of = append(to.Of, uint16(base+int(n)))
		}
	}
	return nil
}

// decodeProperty decodes a page: entries has the index of a value for each row, in the dictionary or
// in the values of the page, or noEntry.
func (r *reader) decodeProperty(p *page, from place, encoding format.Encoding) (err error) {
	levels, values, d, err := r.dataPage(p, from, encoding)
	if err != nil {
		return err
	}
	rows, present := int(from.rows), int(from.rows)-int(d.NumNulls)
	defer recovered(&err)
	if err := r.decodeLevels(levels, rows, present); err != nil {
		return err
	}
	if encoding == format.RLEDictionary {
		if present == 0 {
			p.entries = p.entries[:0]
		} else if err := decodeEntries(r, p, values, present); err != nil {
			return err
		}
	} else {
		if err := decodeStrings(r, p, values, present); err != nil {
			return err
		}
		p.entries = ownEntries(p.entries[:0], present)
	}
	if present == rows {
		return nil
	}
	// Move the entries to their rows, from the last to the first.
	p.entries = slices.Grow(p.entries, rows-present)[:rows]
	for row := rows - 1; row >= 0; row-- {
		if r.levels[row] == 0 {
			p.entries[row] = noEntry
			continue
		}
		present--
		p.entries[row] = p.entries[present]
	}
	return nil
}

// decodeLevels sets r.levels to 1 for each row that has a value, and to 0 for the others.
func (r *reader) decodeLevels(levels []byte, rows, present int) (err error) {
	if present < 0 || present > rows {
		return damagedf("%d values for %d rows", present, rows)
	}
	// The number of levels is checked before memory is allocated.
	if n := runCount(append([]byte{1}, levels...)); n < rows || n >= rows+8 {
		return sameRows(n, rows)
	}
	if r.levels, err = rleLevels.DecodeLevels(r.levels[:0], levels); err != nil {
		return damaged(err)
	}
	if len(r.levels) < rows {
		return sameRows(len(r.levels), rows)
	}
	n := 0
	for _, level := range r.levels[:rows] {
		if level > 1 {
			return damagedf("a level of %d", level)
		}
		n += int(level)
	}
	return sameRows(n, present)
}
