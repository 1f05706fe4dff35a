package segment

import (
	"bytes"
	"slices"
)

// mentionSample is the number of bytes of text in which the rarest byte of a name is looked for.
const mentionSample = 16 << 10

// Mentions finds the JSON objects that may have one of some members: those whose text has one of the names, before
// a quote, or a backslash, with which a name may be written in another form. It searches the text of a page as a
// whole. It must not be used concurrently.
type Mentions struct {
	words []mentionWord
	found []bool // by row of the page; reusable memory
}

// mentionWord is a text to search for: first for the byte at the index rarest, which is the rarest one of the text in
// some pages.
type mentionWord struct {
	text   []byte
	rarest int
}

// NewMentions returns a search for members with some names.
func NewMentions(names []string) *Mentions {
	m := &Mentions{words: []mentionWord{{text: []byte(`\`)}}}
	for _, name := range names {
		m.words = append(m.words, mentionWord{text: []byte(name + `"`), rarest: -1})
	}
	return m
}

// Mentioning appends those of some rows, which ascend, to dst in which the objects of a column may have one of the
// members.
func (r *Rows) Mentioning(column Text, m *Mentions, rows, dst []int32) ([]int32, error) {
	for len(rows) > 0 {
		if err := r.check(int(rows[0]), 1); err != nil {
			return dst, err
		}
		p, err := r.r.page(int(column), int(rows[0]))
		if err != nil {
			return dst, err
		}
		m.search(p)
		for len(rows) > 0 && rows[0] < p.first+p.rows {
			if m.found[rows[0]-p.first] {
				dst = append(dst, rows[0])
			}
			rows = rows[1:]
		}
	}
	return dst, nil
}

// search sets found for the rows of a page.
func (m *Mentions) search(p *page) {
	m.found = append(m.found[:0], make([]bool, p.rows)...)
	for i := range m.words {
		w := &m.words[i]
		if w.rarest < 0 {
			w.choose(p.bytes[p.offsets[0]:])
		}
		w.search(p, m.found)
	}
}

// choose sets the rarest byte.
func (w *mentionWord) choose(text []byte) {
	text = text[:min(len(text), mentionSample)]
	counts := make([]int, len(w.text))
	for i := range w.text {
		counts[i] = bytes.Count(text, w.text[i:i+1])
	}
	w.rarest = slices.Index(counts, slices.Min(counts))
}

// search sets found for the rows of a page that have the text.
func (w *mentionWord) search(p *page, found []bool) {
	row, at := 0, int(p.offsets[0])
	for {
		n := w.index(p.bytes[at:])
		if n < 0 {
			return
		}
		for at += n; int(p.offsets[row+1]) <= at; row++ {
		}
		if end := int(p.offsets[row+1]); at+len(w.text) <= end {
			found[row], at = true, end
		} else { // its end is in the next row
			at++
		}
	}
}

// index returns the first index of the text in another one, or -1.
func (w *mentionWord) index(text []byte) int {
	for at := w.rarest; at < len(text); at++ {
		n := bytes.IndexByte(text[at:], w.text[w.rarest])
		if n < 0 {
			return -1
		}
		at += n
		if bytes.HasPrefix(text[at-w.rarest:], w.text) {
			return at - w.rarest
		}
	}
	return -1
}
