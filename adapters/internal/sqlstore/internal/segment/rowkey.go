package segment

import "github.com/bunting-flags/bunting/capture"

// HasKey reports whether the group has an event with an id, and with the UUID, the name and the distinct id
// of a key. It reads the name and the distinct id only if the UUID is equal.
func (r *Rows) HasKey(id int64, k *capture.EventKey) (bool, error) {
	row, ok, err := r.Find(id)
	if !ok || err != nil {
		return false, err
	}
	p, err := r.r.page(uuidColumn, row)
	if err != nil || p.uuids[row-int(p.first)] != k.UUID {
		return false, err
	}
	if ok, err = r.r.hasText(nameColumn, row, k.Name); !ok || err != nil {
		return false, err
	}
	return r.r.hasText(distinctColumn, row, k.DistinctID)
}

// hasText reports whether a column of strings, with a dictionary or without one, has a text in a row.
func (r *reader) hasText(at, row int, text string) (bool, error) {
	p, err := r.page(at, row)
	if err != nil {
		return false, err
	}
	i := row - int(p.first)
	if !r.group.chunks[at].hasDictionary() {
		return string(p.bytes[p.offsets[i]:p.offsets[i+1]]) == text, nil
	}
	d, err := r.dictionary(at)
	if err != nil {
		return false, err
	}
	if int(p.entries[i]) >= d.count {
		return false, r.wrap(at, p.place, damagedf("entry %d of a dictionary of %d", p.entries[i], d.count))
	}
	from, to := d.text(p.entries[i])
	return string(d.values[from:to]) == text, nil
}
