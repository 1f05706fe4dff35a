package scan

import "strings"

// Strings assigns consecutive numbers, from 0, to distinct strings. Memory that it needs is
// counted with reserve.
type Strings struct {
	numbers map[string]uint32
	All     []string
	Reserve func(bytes int64) error
}

// NewStrings returns an empty table that counts its memory with reserve.
func NewStrings(reserve func(bytes int64) error) *Strings {
	return &Strings{numbers: map[string]uint32{}, Reserve: reserve}
}

// Number returns the number of text and adds it if it is new. The table stores a copy, so the
// caller may reuse the memory of text. The number is valid even if an error is returned.
func (t *Strings) Number(text string) (uint32, error) {
	if n, ok := t.numbers[text]; ok {
		return n, nil
	}
	n := uint32(len(t.All))
	text = strings.Clone(text)
	t.numbers[text] = n
	t.All = append(t.All, text)
	return n, t.Reserve(int64(len(text)) + 72)
}

// Interner assigns consecutive numbers, from 0, to the distinct strings of a value.
type Interner struct {
	*Strings
	value Getter
}

// Number returns the number of the event's string, and false if the value is missing or empty.
func (in *Interner) Number(r *Row) (uint32, bool) {
	text, _ := Text(in.value(r))
	if text == "" {
		return 0, false
	}
	n, _ := in.Strings.Number(text) // the scan checks the memory limit after the batch
	return n, true
}
