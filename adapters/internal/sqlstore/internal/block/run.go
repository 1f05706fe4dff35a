package block

// Run decodes strings with all short columns whose events follow one another, as the columns of one
// block. The zero value has no events.
type Run struct {
	Columns
	part            Columns
	names, distinct map[string]uint16
	people          map[storedPerson]uint16
	numbers         []uint16 // reusable memory: the indexes in the run of a list of the part
}

// Reset removes all events and keeps the memory.
func (r *Run) Reset() {
	c := &r.Columns
	c.IDs, c.Times, c.Arrived, c.UUIDs, c.modes = c.IDs[:0], c.Times[:0], c.Arrived[:0], c.UUIDs[:0], c.modes[:0]
	c.NameOf, c.DistinctIDOf, c.PersonOf = c.NameOf[:0], c.DistinctIDOf[:0], c.PersonOf[:0]
	c.Names, c.DistinctIDs, c.Persons, c.PersonCreated = c.Names[:0], c.DistinctIDs[:0], c.Persons[:0], c.PersonCreated[:0]
	clear(r.names)
	clear(r.distinct)
	clear(r.people)
}

// Add appends the events of a string, and reports whether there was room for them: a run has at
// most MaxEvents. The ids must be greater than those of the run. data must not be modified later.
func (r *Run) Add(data []byte) (ok bool, err error) {
	p, c := &r.part, &r.Columns
	if err := p.DecodeShort(data); err != nil {
		return false, err
	}
	if len(c.IDs) > 0 && len(c.IDs)+len(p.IDs) > MaxEvents {
		return false, nil
	}
	if len(c.IDs) > 0 && len(p.IDs) > 0 && p.IDs[0] <= c.IDs[len(c.IDs)-1] {
		return false, ErrDamaged
	}
	if r.names == nil {
		r.names, r.distinct, r.people = map[string]uint16{}, map[string]uint16{}, map[storedPerson]uint16{}
	}
	c.IDs, c.Times = append(c.IDs, p.IDs...), append(c.Times, p.Times...)
	c.Arrived, c.UUIDs, c.modes = append(c.Arrived, p.Arrived...), append(c.UUIDs, p.UUIDs...), append(c.modes, p.modes...)
	c.NameOf = r.addTexts(c.NameOf, &c.Names, r.names, p.Names, p.NameOf)
	c.DistinctIDOf = r.addTexts(c.DistinctIDOf, &c.DistinctIDs, r.distinct, p.DistinctIDs, p.DistinctIDOf)
	r.numbers = r.numbers[:0]
	for i, uuid := range p.Persons {
		key := storedPerson{uuid, p.PersonCreated[i]}
		n, ok := r.people[key]
		if !ok {
			n = uint16(len(c.Persons))
			r.people[key] = n
			c.Persons, c.PersonCreated = append(c.Persons, uuid), append(c.PersonCreated, key.created)
		}
		r.numbers = append(r.numbers, n)
	}
	c.PersonOf = r.addIndexes(c.PersonOf, p.PersonOf)
	return true, nil
}

// addTexts adds the texts of a part to a list that has the numbers of its texts, and appends the
// indexes of the part's events to dst.
func (r *Run) addTexts(dst []uint16, list *[]string, numbers map[string]uint16, texts []string, indexes []uint16) []uint16 {
	r.numbers = r.numbers[:0]
	for _, text := range texts {
		n, ok := numbers[text]
		if !ok {
			n = uint16(len(*list))
			numbers[text] = n
			*list = append(*list, text)
		}
		r.numbers = append(r.numbers, n)
	}
	return r.addIndexes(dst, indexes)
}

// addIndexes appends the numbers in the run of indexes in a list of the part.
func (r *Run) addIndexes(dst, indexes []uint16) []uint16 {
	for _, i := range indexes {
		dst = append(dst, r.numbers[i])
	}
	return dst
}
