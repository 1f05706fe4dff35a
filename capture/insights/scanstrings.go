package insights

import "strings"

// stringTable assigns consecutive numbers, from 0, to distinct strings. Memory that it needs is
// counted with reserve.
type stringTable struct {
	numbers map[string]uint32
	All     []string
	Reserve func(bytes int64) error
}

// newStringTable returns an empty table that counts its memory with reserve.
func newStringTable(reserve func(bytes int64) error) *stringTable {
	return &stringTable{numbers: map[string]uint32{}, Reserve: reserve}
}

// Number returns the number of text and adds it if it is new. The table stores a copy, so the
// caller may reuse the memory of text. The number is valid even if an error is returned.
func (t *stringTable) Number(text string) (uint32, error) {
	if n, ok := t.numbers[text]; ok {
		return n, nil
	}
	n := uint32(len(t.All))
	text = strings.Clone(text)
	t.numbers[text] = n
	t.All = append(t.All, text)
	return n, t.Reserve(int64(len(text)) + 72)
}

// interner assigns consecutive numbers, from 0, to the distinct strings of a value.
type interner struct {
	*stringTable
	value getter
}

// Number returns the number of the event's string, and false if the value is missing or empty.
func (in *interner) Number(r *row) (uint32, bool) {
	text, _ := textOf(in.value(r))
	if text == "" {
		return 0, false
	}
	n, _ := in.stringTable.Number(text) // the scan checks the memory limit after the batch
	return n, true
}
