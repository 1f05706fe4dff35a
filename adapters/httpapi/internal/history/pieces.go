package history

import "github.com/bunting-flags/bunting/capture"

const (
	// pageBytes is the size in bytes after which a page of events ends, even below its limit. One
	// event may have a million bytes.
	pageBytes = 8 << 20
	// firstPiece is the number of events in the first chunk, when their size is still unknown.
	firstPiece = 20
)

// pieces computes the sizes of the chunks in which a page is read, so that few large objects are
// in memory at a time.
type pieces struct{ limit, got, size, largest int }

// next returns the number of objects to read in the next chunk, or 0 if the page is full.
func (p *pieces) next() int {
	n := firstPiece
	switch {
	case p.got >= p.limit || p.size >= pageBytes:
		return 0
	case p.got > 0:
		n = max((pageBytes-p.size)/max(p.largest, 1), 1)
	}
	return min(n, p.limit-p.got)
}

// add counts an object of the given size.
func (p *pieces) add(bytes int) {
	p.got, p.size, p.largest = p.got+1, p.size+bytes, max(p.largest, bytes)
}

// fill collects at most limit events. more reports whether further events follow. fetch returns n
// events after last, which is nil for the first chunk.
func fill(limit int, fetch func(last *capture.Record, n int) ([]capture.Record, error)) (out []capture.Record, more bool, err error) {
	p := pieces{limit: limit}
	for n := p.next(); n > 0; n = p.next() {
		piece, err := fetch(lastOf(out), n)
		if err != nil {
			return nil, false, err
		}
		out = append(out, piece...)
		if len(piece) < n {
			return out, false, nil
		}
		for i := range piece {
			p.add(eventBytes(&piece[i]))
		}
	}
	following, err := fetch(lastOf(out), 1)
	return out, len(following) > 0, err
}

func eventBytes(e *capture.Record) int {
	return len(e.Properties) + len(e.PersonProperties) + len(e.ElementsChain)
}

func lastOf(list []capture.Record) *capture.Record {
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}
